"""The one statement that settles an effect as applied: state, receipt, event and money together."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.db import IntegrityError, transaction

from durable import journal, vault
from durable.digest import canonical, digest, plain
from durable.errors import Conflict, Invalid
from durable.ledger.statements import APPLY, OUTCOME, SETTLED
from durable.models import Effect, Run, Sealed
from durable.money import to_minor
from durable.sql import answer
from durable.states import EFFECT_MOVES, EffectState, EventKind
from durable.text import quoted
from durable.transitions import Claim
from durable.vendor import Receipt


class ReceiptTaken(Conflict):
    """The receipt belongs to another effect already; it proves nothing about this one."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What an effect has become: its event, the columns that say so, and the receipt that proves it."""

    event_id: int
    columns: tuple[Any, ...]
    proof: Sealed

    def into(self, effect: Effect) -> None:
        """Bring an effect up to date."""
        for column, value in zip(SETTLED, self.columns, strict=True):
            setattr(effect, column, value)
        self.proof.pk = effect.proof_id
        effect.proof = self.proof


def apply_at_once(claim: Claim, effect: Effect, receipt: Receipt, *, adopted: bool) -> Settled | None:
    """Settle an effect by the worker that has made its one request. Raises ReceiptTaken; then nothing is written.

    None where that is not so any more, or the lease is lost: then nothing is written either. `effect` stays what it was
    when the vendor was asked: whoever does not hear of the commit asks again with it.
    """
    values, proof = _values(effect, receipt, claim.seal_key, actor=claim.actor, adopted=adopted, words="")
    return _execute(OUTCOME, values | claim.token, proof)


def apply_locked(
    run: Run, effect: Effect, receipt: Receipt, seal_key: bytes, *, actor: str, adopted: bool, words: str
) -> None:
    """Settle a locked effect of a locked run. Raises Conflict where it can't be from its state, or ReceiptTaken."""
    if EffectState.APPLIED not in EFFECT_MOVES[EffectState(effect.state)]:
        raise Conflict(f"{effect.key} is {effect.state}; it cannot become applied")
    values, proof = _values(effect, receipt, seal_key, actor=actor, adopted=adopted, words=words)
    with transaction.atomic():  # a receipt that is taken must not take the caller's transaction with it
        settled = _execute(APPLY, values | {"run": run.pk, "state": effect.state}, proof)
    if settled is None:
        raise Conflict(f"{effect.key} is no longer {effect.state}")
    settled.into(effect)
    if words:
        journal.attach(run, settled.event_id, *vault.box(seal_key, words))


def _values(
    effect: Effect, receipt: Receipt, seal_key: bytes, *, actor: str, adopted: bool, words: str
) -> tuple[dict[str, Any], Sealed]:
    moved = spent(effect, receipt)
    body: dict[str, Any] = {"receipt": receipt.id, "digest": effect.digest}
    if moved is not None:
        body |= {"amount_minor": moved, "currency": effect.currency}
    if words:
        body["words"] = digest(words)
    proof_digest, box = vault.box(seal_key, plain(asdict(receipt)))
    values = {
        "effect": effect.pk,
        "key": effect.key,
        "kind": (EventKind.ADOPTED if adopted else EventKind.APPLIED).value,
        "actor": journal.one_line(actor),
        "body": canonical(body).decode(),
        "proof_digest": proof_digest,
        "proof_box": box,
        "receipt": receipt.id,
        "adopted": adopted,
        "reserved": effect.amount_minor or 0,
        "spent": moved or 0,
        "counted": effect.amount_minor is not None and effect.undo_of_id is None,
    }
    return values, Sealed(run_id=effect.run_id, digest=proof_digest, box=box)


def _execute(sql: str, values: dict[str, Any], proof: Sealed) -> Settled | None:
    """Execute, and return what was written. None where that is nothing."""
    try:
        row = answer(sql, values)
    except IntegrityError as error:
        if "receipt_once" not in str(error):
            raise
        raise ReceiptTaken(f"receipt {quoted(str(values['receipt']))} belongs to another effect") from error
    if row is None:
        return None
    event_id, *columns = row
    return Settled(event_id, tuple(columns), proof)


def spent(effect: Effect, receipt: Receipt) -> int | None:
    """What the receipt says was spent, in minor units; what was asked where it says nothing of that currency."""
    if receipt.amount is None or not effect.currency:
        return effect.amount_minor
    if receipt.currency and receipt.currency.upper() != effect.currency:
        return effect.amount_minor
    try:
        return to_minor(receipt.amount, effect.currency)
    except Invalid:
        return effect.amount_minor
