"""Mail: what each way of failing says about the one message, with a mail server that answers by script."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.core import mail

from durable.adapters.mail import message_id, send_email
from durable.errors import InDoubt, NotSent, VendorRefused
from tests.adapters.subjects import KEY, call

SMTP = "django.core.mail.backends.smtp.EmailBackend"
OK = {
    "": "220 ready",
    "EHLO": "250 hello",
    "MAIL": "250 ok",
    "RCPT": "250 ok",
    "DATA": "354 go on",
    ".": "250 taken",
}


class Server:
    """A mail server for a few connections. `script` says what it answers to what; "cut" closes, "hang" says nothing,
    "drip" never comes to the end.
    """

    def __init__(self) -> None:
        self.script = dict(OK)
        self.messages: list[str] = []
        self._stopping = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as talk:
                try:
                    self._talk(talk)
                except OSError:
                    continue

    def _talk(self, talk: Any) -> None:
        if not self._answer(talk, ""):
            return
        while line := talk.readline().decode():
            verb = line.split()[0].upper()
            if verb == "QUIT" or not self._answer(talk, verb):
                return
            if verb == "DATA" and self.script["DATA"].startswith("3"):
                text = []
                while (part := talk.readline().decode()) not in (".\r\n", ""):
                    text.append(part)
                self.messages.append("".join(text))
                if not self._answer(talk, "."):
                    return

    def _answer(self, talk: Any, verb: str) -> bool:
        words = self.script.get(verb, "250 ok")
        if words == "hang":
            self._stopping.wait(30)
        if words == "drip":
            while not self._stopping.wait(0.05):
                talk.write(b"250-and\r\n")
                talk.flush()
        if words in ("cut", "hang", "drip"):
            return False
        talk.write(f"{words}\r\n".encode())
        talk.flush()
        return True


@pytest.fixture
def server(settings: Any) -> Iterator[Server]:
    running = Server()
    settings.EMAIL_BACKEND = SMTP
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", running.port
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
    settings.DEFAULT_FROM_EMAIL = "Refund desk <desk@shop.example>"
    yield running
    running.stop()


def send(to: str = "ada@example.org", subject: str = "Your refund", timeout: float = 5.0) -> Any:
    return send_email(call({}, timeout=timeout), to, subject, "40.00 EUR are on their way.")


def test_a_taken_mail_has_a_receipt_by_its_message_id(server: Server) -> None:
    receipt = send()
    assert (receipt.id, receipt.target, receipt.key) == (message_id(KEY), "ada@example.org", KEY)
    (text,) = server.messages
    assert f"Message-ID: {receipt.id}" in text
    assert "40.00 EUR are on their way." in text


def test_the_message_id_comes_from_the_key_alone(settings: Any) -> None:
    settings.DEFAULT_FROM_EMAIL = "Refund desk <desk@shop.example>"
    assert message_id("a") == message_id("a") != message_id("b")
    assert message_id("a").endswith("@shop.example>")


def test_a_server_that_is_not_there_was_sent_nothing(server: Server, settings: Any) -> None:
    settings.EMAIL_PORT = 1
    with pytest.raises(NotSent):
        send()


@pytest.mark.parametrize("words", ["cut", "hang", "554 no service", "421 too busy"])
def test_a_connection_that_never_opened_was_sent_nothing(server: Server, words: str) -> None:
    server.script[""] = words
    with pytest.raises(NotSent):
        send(timeout=0.3)


@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "DATA", "."])
def test_a_permanent_no_is_a_refusal(server: Server, verb: str) -> None:
    server.script[verb] = "550 no such user"
    with pytest.raises(VendorRefused, match="no such user") as refused:
        send()
    assert refused.value.code == "smtp_550"


@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "DATA", "."])
def test_a_no_for_now_was_not_taken_and_may_be_repeated(server: Server, verb: str) -> None:
    server.script[verb] = "451 try again later"
    with pytest.raises(NotSent):
        send()


@pytest.mark.parametrize("words", ["cut", "hang"])
@pytest.mark.parametrize("verb", ["MAIL", "DATA", "."])
def test_silence_once_the_connection_stood_is_doubt(server: Server, verb: str, words: str) -> None:
    server.script[verb] = words
    with pytest.raises(InDoubt):
        send(timeout=0.3)


def test_a_server_that_never_comes_to_the_end_is_cut_when_time_is_over(server: Server) -> None:
    server.script["."] = "drip"
    began = time.monotonic()
    with pytest.raises(InDoubt):
        send(timeout=0.4)
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    "to", ["", "ada", "ada@example.org, eve@example.org", "ada@example.org\nBcc: eve@example.org"]
)
def test_anything_but_one_address_is_never_sent(server: Server, to: str) -> None:
    with pytest.raises(VendorRefused):
        send(to)
    assert server.messages == []


def test_a_subject_can_not_smuggle_a_header_in(server: Server) -> None:
    with pytest.raises(VendorRefused):
        send(subject="Hello\nBcc: eve@example.org")
    assert server.messages == []


def test_a_call_without_time_left_sends_no_mail(server: Server) -> None:
    with pytest.raises(NotSent):
        send(timeout=0)
    assert server.messages == []


@pytest.mark.parametrize("backend", ["locmem", "filebased"])
def test_other_backends_of_django_take_it_too(settings: Any, tmp_path: Any, backend: str) -> None:
    settings.EMAIL_BACKEND = f"django.core.mail.backends.{backend}.EmailBackend"
    settings.EMAIL_FILE_PATH = str(tmp_path)
    assert send().id == message_id(KEY)
    written = [one.read_text() for one in tmp_path.iterdir()]
    texts = written or [one.message().as_string() for one in mail.outbox]
    assert message_id(KEY) in texts[0]
