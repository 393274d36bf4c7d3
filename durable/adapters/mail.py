"""E-mail through Django's mail: irreversible, without keys, without a look-up.

The vendor's facts: an SMTP server that has taken a message can't be asked for it, nor told to drop it. The
`Message-ID` is derived from the key, so that a receipt exists and a repeat carries the same one; servers do
not compare it.

What a failure means: up to the end of the connection's opening nothing was sent (`NotSent`). A reply of the
server (RFC 5321, 4.2.1) is definitive for this message: 5yz `VendorRefused`, 4yz not taken now, `NotSent`.
Anything else once the connection stood, a time-out, a connection lost, is `InDoubt`.
"""

from __future__ import annotations

import hashlib
import smtplib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parseaddr
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage, get_connection
from django.core.validators import validate_email

from durable import clock
from durable.errors import InDoubt, NotSent, VendorError, VendorRefused
from durable.text import cut
from durable.vendor import Call, Receipt


def message_id(key: str) -> str:
    """The `Message-ID` of the mail sent under `key`, in the domain of DEFAULT_FROM_EMAIL."""
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2] or "localhost"
    return f"<{hashlib.sha256(key.encode()).hexdigest()[:40]}@{domain}>"


def send_email(call: Call, to: str, subject: str, body: str) -> Receipt:
    """Send one plain text mail to one address."""
    until = clock.elapsed() + call.timeout
    name = message_id(call.key)
    connection = get_connection(fail_silently=False, timeout=call.timeout)
    message = _message(connection, to, subject, body, name)
    try:
        connection.open()
        left = until - clock.elapsed()
        if left <= 0:
            raise NotSent("connecting to the mail server took all of the call's time")
    except VendorError:
        connection.close()
        raise
    except Exception as error:
        raise NotSent(f"no connection to the mail server: {type(error).__name__}") from error
    try:
        with _cut_after(left, connection):
            taken = connection.send_messages([message])
    except Exception as error:
        raise _meaning(error) from error
    finally:
        _close(connection)
    if not taken:
        raise InDoubt("the mail backend does not say that it took the message")
    return Receipt(id=name, target=to, key=call.key, facts={"subject_length": len(subject)})


def _message(connection: Any, to: str, subject: str, body: str, name: str) -> EmailMessage:
    """The message, proved writable before a connection is opened."""
    try:
        validate_email(to)
        message = EmailMessage(subject, body, to=[to], headers={"Message-ID": name}, connection=connection)
        message.message().as_bytes()
    except ValidationError as error:
        raise VendorRefused("bad_recipient", "to: must be one e-mail address; nothing was sent") from error
    except (ValueError, UnicodeError) as error:
        raise VendorRefused(
            "bad_message", f"the mail can't be written ({error}); nothing was sent"
        ) from error
    return message


@contextmanager
def _cut_after(seconds: float, connection: Any) -> Iterator[None]:
    """Cut the SMTP connection when the call's time is over: smtplib's own time-out counts each reply anew."""
    sock = getattr(getattr(connection, "connection", None), "sock", None)
    if sock is None:
        yield
        return
    timer = threading.Timer(seconds, _shut, [sock])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _shut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def _close(connection: Any) -> None:
    """Close quietly: what QUIT says changes nothing about the message."""
    try:
        connection.close()
    except Exception:
        return


def _meaning(error: Exception) -> VendorError:
    text: bytes | str
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, text = next(iter(error.recipients.values()), (0, b""))
    elif isinstance(error, smtplib.SMTPResponseException):
        code, text = error.smtp_code, error.smtp_error
    else:
        return InDoubt(f"the mail may have been taken: {type(error).__name__}")
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    if 500 <= code < 600:
        return VendorRefused(f"smtp_{code}", cut(words, 500))
    if 400 <= code < 500:
        return NotSent(f"the mail server does not take it now ({code})")
    return InDoubt(f"the mail server answered {code}")
