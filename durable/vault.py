"""Personal data, sealed: AES-256-GCM under a key of the run's own, itself wrapped under the installation's key.

Rows that can't change hold digests only. Destroying a run's key erases what was sealed under it and leaves every
chain verifiable.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from functools import cache
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.db import connection

from durable.beats import committing, inside, stating
from durable.digest import canonical, sha256
from durable.errors import InterlockError
from durable.models import ActKey, ActWords, Indexed, LedgerEvent, Run, Sealed, SealKey
from durable.models.fields import Clock

_NONCE = 12
_FORGET = """
DELETE FROM durable_subjectname n
USING durable_effect e JOIN durable_subject s ON s.effect_id = e.id
WHERE e.run_id = %(run)s AND n.hash = s.hash AND NOT EXISTS (
    SELECT FROM durable_subject other JOIN durable_sealkey k ON k.run_id = other.run_id AND k.wrapped IS NOT NULL
    WHERE other.hash = s.hash AND other.run_id <> e.run_id
)
"""


_NAMELESS = (
    "DELETE FROM durable_subjectname n WHERE NOT EXISTS (SELECT FROM durable_subject s WHERE s.hash = n.hash)"
)


class Erased(InterlockError):
    """The key of this data was destroyed; nobody can read it any more."""


class Tampered(InterlockError):
    """Sealed data does not open under its key: it was changed outside of the product."""


class WrongKey(InterlockError):
    """INTERLOCK_SEAL_KEY is not the one under which the runs of this database were started."""


#: Keys of runs that are tried, newest first: a few that others have spoilt say nothing about the setting.
_TRIED = 20
#: The setting that has opened a run's key in this process.
_proven = b""


def prove() -> None:
    """See that INTERLOCK_SEAL_KEY opens what is there. Costs nothing once it has. Raises WrongKey."""
    global _proven
    if _proven == settings.INTERLOCK_SEAL_KEY:
        return
    kept = SealKey.objects.filter(wrapped__isnull=False).order_by("-pk").values_list("wrapped", "run__ref")
    newest = list(kept[:_TRIED])
    if any(_opens(bytes(wrapped or b""), run_ref) for wrapped, run_ref in newest):
        _proven = settings.INTERLOCK_SEAL_KEY
    elif newest:
        raise WrongKey(
            f"INTERLOCK_SEAL_KEY does not open what this database holds, the newest of it for {newest[0][1]}: "
            "set the key under which its runs were started, or DATABASE_URL to the database that belongs to the key"
        )


def _opens(wrapped: bytes, run_ref: str) -> bool:
    try:
        unwrap(wrapped, run_ref)
    except Tampered:
        return False
    return True


def _encrypt(key: bytes, plain: bytes, bound_to: bytes) -> bytes:
    nonce = os.urandom(_NONCE)
    return nonce + AESGCM(key).encrypt(nonce, plain, bound_to)


def _decrypt(key: bytes, box: bytes, bound_to: bytes) -> bytes:
    try:
        return AESGCM(key).decrypt(box[:_NONCE], box[_NONCE:], bound_to)
    except (InvalidTag, ValueError) as error:  # ValueError: it is too short to be a box or a key at all
        raise Tampered("sealed data does not open under its key: it was changed or swapped") from error


def create_key(run: Run) -> bytes:
    """Make and store the run's sealing key; return it unwrapped. Called once, when the run starts. Raises WrongKey."""
    key, wrapped = new_key(run.ref)
    SealKey.objects.create(run=run, wrapped=wrapped)
    return key


def new_key(run_ref: str) -> tuple[bytes, bytes]:
    """Make a run's sealing key; return it bare, and wrapped as it is stored.

    Raises WrongKey: what is sealed under a wrong one nobody else could read.
    """
    prove()
    return first_key(run_ref)


def first_key(run_ref: str) -> tuple[bytes, bytes]:
    """Do as `new_key`, unproven and without any query: for a database of which is known that it holds no key yet."""
    key = AESGCM.generate_key(256)
    return key, _encrypt(settings.INTERLOCK_SEAL_KEY, key, run_ref.encode())


def open_key(run_id: int, run_ref: str) -> bytes:
    """Return the run's sealing key. Raises Erased where it was destroyed."""
    wrapped = SealKey.objects.filter(run_id=run_id).values_list("wrapped", flat=True).first()
    if wrapped is None:
        raise Erased(_lost(run_ref))
    return unwrap(bytes(wrapped), run_ref)


def _lost(run_ref: str) -> str:
    return f"the personal data of {run_ref} has been erased, or went by the retention policy"


def key_of(run: Run) -> bytes:
    """Return the sealing key of a run: no query where it was loaded with its `seal_key`. Raises Erased."""
    try:
        wrapped = run.seal_key.wrapped
    except ObjectDoesNotExist:
        wrapped = None
    if wrapped is None:
        raise Erased(_lost(run.ref))
    return unwrap(bytes(wrapped), run.ref)


def unwrap(wrapped: bytes, run_ref: str) -> bytes:
    """Return a run's sealing key from its wrapped form."""
    return _decrypt(settings.INTERLOCK_SEAL_KEY, wrapped, run_ref.encode())


def box(key: bytes, value: Any) -> tuple[str, bytes]:
    """Return the SHA-256 (hex) of `value`'s canonical JSON, and the value sealed under `key`."""
    return box_bytes(key, canonical(value))


def box_bytes(key: bytes, plain: bytes) -> tuple[str, bytes]:
    """Return the SHA-256 (hex) of canonical JSON, and the same sealed under `key`."""
    digest = sha256(plain)
    return digest, box_of(key, plain, digest)


def box_of(key: bytes, plain: bytes, digest: str) -> bytes:
    """Seal canonical bytes under `key`, bound to their `digest` (SHA-256, hex)."""
    return _encrypt(key, plain, digest.encode())


def seal(run_id: int, key: bytes, value: Any) -> Sealed:
    """Store `value` (plain JSON) sealed under the run's key."""
    digest, boxed = box(key, value)
    return Sealed.objects.create(run_id=run_id, digest=digest, box=boxed)


def unseal(key: bytes, sealed: Sealed | ActWords) -> Any:
    """Return what was sealed. Raises Tampered where box and digest do not belong together."""
    return json.loads(_decrypt(key, bytes(sealed.box), sealed.digest.encode()))


def proven(key: bytes, digest: str, box: bytes) -> bytes:
    """Return the canonical bytes of a box, whose SHA-256 is its digest. Raises Tampered where it is not so.

    Whoever holds the key could seal other content under the same digest; only its own hash tells.
    """
    found = _decrypt(key, box, digest.encode())
    if sha256(found) != digest:
        raise Tampered("sealed data is not what its digest says: it was sealed anew")
    return found


def read(sealed: Sealed) -> Any:
    """Return what was sealed, fetching the run's key. Raises Erased or Tampered."""
    return unseal(open_key(sealed.run_id, sealed.run.ref), sealed)


def destroy(run: Run) -> None:
    """Destroy the run's key for ever: what was sealed under it can't be read again.

    The index of names forgets those that no other run with a key knows.
    """
    with committing("erase"):
        destroy_within(run)


def destroy_within(run: Run) -> bool:
    """Do as `destroy` in the caller's transaction. False where the key was destroyed before."""
    inside(f"the key of {run.ref} is to be destroyed")
    # The indexer has it while it reads what is sealed and writes names: one of the two comes first.
    list(Indexed.objects.select_for_update())
    gone = SealKey.objects.filter(run=run, destroyed_at=None).update(wrapped=None, destroyed_at=Clock())
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, {"run": run.pk})
    return bool(gone)


def forget_nameless() -> None:
    """Take names out of the index that no effect is about any more: an edit made it about somebody else."""
    with connection.cursor() as cursor:
        cursor.execute(_NAMELESS)


def seal_act(event: int, chain: str, words: str) -> None:
    """Keep words beside an event about an object outside of runs, whose body has their digest."""
    kept = _act_key(chain)
    digest, boxed = box(unwrap(bytes(kept.wrapped or b""), chain), words)
    ActWords.objects.create(event_id=event, key=kept, digest=digest, box=boxed)


def _act_key(chain: str) -> ActKey:
    """The object's present key, made where it has none (any more)."""
    present = ActKey.objects.filter(chain=chain, destroyed_at=None)
    found = present.first()
    if found is None:
        made = ActKey(chain=chain, wrapped=new_key(chain)[1])
        ActKey.objects.bulk_create([made], ignore_conflicts=True)
        found = present.get()
    return found


def act_words(event: LedgerEvent) -> str:
    """Return what was said in an act outside of runs; empty where nothing was. Raises Erased or Tampered."""
    said = ActWords.objects.select_related("key").filter(event=event).first()
    return "" if said is None else read_act(said)


def read_act(said: ActWords) -> str:
    """Return the words that were sealed, where `said` was loaded with its key. Raises Erased or Tampered."""
    if said.key.wrapped is None:
        raise Erased(f"what was said about {said.key.chain} has been erased")
    return str(unseal(unwrap(bytes(said.key.wrapped), said.key.chain), said))


def forget(chain: str) -> None:
    """Destroy for ever the key of what was said about an object outside of runs, such as the addresses of a person."""
    with stating("erase"):
        ActKey.objects.filter(chain=chain, destroyed_at=None).update(wrapped=None, destroyed_at=Clock())


def forget_words(event: int) -> None:
    """Make unreadable for ever what was said in one act outside of runs; all else about its object stays. In the
    caller's transaction.
    """
    said = ActWords.objects.select_for_update(of=("self",)).select_related("key").get(event=event)
    lost = ActKey.objects.create(chain=said.key.chain, destroyed_at=Clock())
    ActWords.objects.filter(pk=said.pk).update(key=lost, box=b"")


def box_for_index(plain: bytes, bound_to: str) -> bytes:
    """Seal what the index of names holds, under a key of its own that only the installation's key gives."""
    return _encrypt(_index_key(settings.INTERLOCK_SEAL_KEY), plain, bound_to.encode())


def open_for_index(boxed: bytes, bound_to: str) -> bytes:
    """Return what the index holds. Raises Tampered."""
    return _decrypt(_index_key(settings.INTERLOCK_SEAL_KEY), boxed, bound_to.encode())


@cache
def _index_key(seal_key: bytes) -> bytes:
    return hmac.digest(seal_key, b"interlock index of names", hashlib.sha256)
