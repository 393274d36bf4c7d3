"""Who has signed a statement: Ed25519 under a key from outside of the database."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

from durable.errors import InterlockError, Invalid


class NoKey(InterlockError):
    """This process has no INTERLOCK_SIGN_KEY, so it can sign nothing."""


def sign(text: str) -> bytes:
    """Return the signature of a statement's text. Raises NoKey."""
    return _own().sign(text.encode())


def public_key() -> str:
    """Return the public half of this process's key, in 64 hexadecimal digits. Raises NoKey."""
    return _own().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


def trusted() -> frozenset[str]:
    """Return the public keys whose signatures count here: this process's own, and those of INTERLOCK_PUBLIC_KEYS."""
    own = [public_key()] if settings.INTERLOCK_SIGN_KEY else []
    return frozenset([*own, *(checked(key) for key in settings.INTERLOCK_PUBLIC_KEYS)])


def checked(key: str) -> str:
    """Return a public key as it is compared. Raises Invalid."""
    found = key.strip().lower()
    try:
        if len(bytes.fromhex(found)) == 32:
            return found
    except ValueError:
        pass
    raise Invalid("key", "a public key is 64 hexadecimal digits, as `manage.py roots --public-key` prints it")


def signed(text: str, signature: bytes, key: str) -> bool:
    """Whether the owner of `key` has signed the text."""
    try:
        _public(key).verify(signature, text.encode())
    except (InvalidSignature, ValueError):
        return False
    return True


def signed_by_trusted(text: str, signature: bytes, key: str, trusted: Collection[str]) -> bool:
    """Whether it is signed with the key that it names, and that is one of those that count."""
    return key in trusted and signed(text, signature, key)


@lru_cache(maxsize=16)
def _public(key: str) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))


def _own() -> Ed25519PrivateKey:
    if not settings.INTERLOCK_SIGN_KEY:
        raise NoKey("INTERLOCK_SIGN_KEY is not set here: no root can be signed")
    return Ed25519PrivateKey.from_private_bytes(settings.INTERLOCK_SIGN_KEY)
