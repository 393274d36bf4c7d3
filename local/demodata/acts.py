"""Effects of a story: intent, request and outcome, each as the ledger has it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings

from durable.digest import about, keyed_hash
from durable.ledger import Place, key_of
from durable.money import from_minor
from durable.states import Attention, EffectClass, EffectState, EventKind
from local.demodata.rows import COLUMNS, canonical
from local.demodata.story import Story

#: Seconds that a request may take.
_WITHIN = timedelta(seconds=10)
_IN_FLIGHT = timedelta(seconds=60)
_FIELDS = COLUMNS["durable_effect"]
_FRESH: dict[str, Any] = dict.fromkeys(_FIELDS) | {
    "state": EffectState.PENDING.value,
    "link": 1,
    "tool_version": 1,
    "round": 1,
    "sends": 0,
    "open_sends": 0,
    "error_saved": False,
    "looks": 0,
    "adopted": False,
    "currency": "",
    "reason": "",
    "once_per": "",
    "receipt_id": "",
    "failure": "",
}


@dataclass(frozen=True)
class Wanted:
    """One act as a step asks for it: the tool's class and vendor, its arguments, and what follows from them."""

    tool: str
    effect_class: EffectClass
    vendor: str
    args: dict[str, Any]
    subjects: dict[str, str]
    minor: int | None = None
    currency: str = ""
    once_per: str | None = None
    target: str | None = None
    reason: str = ""


class Act:
    """One effect of a story; `values` are the columns of its row, written when the act is over."""

    def __init__(self, story: Story, wanted: Wanted, *, undo_of: Act | None = None) -> None:
        """Record the intent, and reserve its money."""
        self.story, self.wanted, self.undo_of = story, wanted, undo_of
        self.id = story.rows.new_id("durable_effect")
        place = (story.step, story.visit, 1) if undo_of is None else undo_of.place
        self.place: tuple[str, int, int] = place
        self.key: str = key_of(story.ref, Place(*place)) if undo_of is None else f"{undo_of.key}:undo"
        payload, self.digest = story.seal(
            canonical(
                {
                    "tool": wanted.tool,
                    "version": 1,
                    "vendor": wanted.vendor,
                    "account": "",
                    "args": wanted.args,
                }
            )
        )
        secret = settings.INTERLOCK_HASH_KEY
        self.values: dict[str, Any] = _FRESH | {
            "id": self.id,
            "run_id": story.id,
            "key": self.key,
            **dict(zip(("step", "visit", "ordinal"), place, strict=True)),
            "undo_of_id": None if undo_of is None else undo_of.id,
            "tool": wanted.tool,
            "effect_class": wanted.effect_class.value,
            "digest_asked": self.digest,
            "digest": self.digest,
            "payload_asked_id": payload,
            "payload_id": payload,
            "vendor": wanted.vendor,
            "amount_minor": wanted.minor,
            "currency": wanted.currency,
            "reason": wanted.reason,
            "recorded_at": story.now,
        }
        if wanted.once_per is not None:
            self.values["once_per"] = keyed_hash(f"once:{wanted.tool}", wanted.once_per, secret)
        subjects = {kind: keyed_hash(kind, value, secret) for kind, value in wanted.subjects.items()}
        for kind, hash in subjects.items():
            story.rows.add("durable_subject", self.id, story.id, kind, hash)
            story.rows.name(kind, hash, wanted.subjects[kind])
        self.money(reserved=wanted.minor or 0)
        body: dict[str, Any] = {"tool": wanted.tool, "tool_version": 1, "class": wanted.effect_class.value}
        body |= {"digest": self.digest, "attempt": story.attempt, **self._amount()}
        lines = [f"{kind} {hash}" for kind, hash in subjects.items()]
        body["about"] = about(self.key, self.values["once_per"], lines)
        self.event(EventKind.INTENT, actor=story.worker, body=body)

    # The vendor

    def send(self) -> None:
        """Let the request out."""
        story = self.story
        self.values |= {
            "state": EffectState.PENDING.value,
            "sends": 1,
            "open_sends": 1,
            "first_sent_at": story.now,
            "last_sent_at": story.now,
            "send_by": story.now + _WITHIN,
            "next_look_at": story.now + _WITHIN + _IN_FLIGHT,
        }
        body = {"attempt": story.attempt, "digest": self.digest, "round": 1, "send": 1}
        body["within_ms"] = _WITHIN // timedelta(milliseconds=1)
        self.event(EventKind.SENT, actor=story.worker, body=body)

    def applied(self, receipt: str, facts: dict[str, Any], *, adopted: bool = False) -> dict[str, Any]:
        """Let the vendor have acted; returns the receipt. `adopted`: it was found by looking."""
        story, wanted = self.story, self.wanted
        story.pass_time(0.05, 0.9)
        amount = None if wanted.minor is None else format(from_minor(wanted.minor, wanted.currency), "f")
        proof = {
            "id": receipt,
            "amount": amount,
            "currency": wanted.currency or None,
            "target": wanted.target,
            "account": None,
            "key": self.key,
            "at": f"{story.now.replace(microsecond=0).isoformat()}Z",
            "facts": facts,
            "decided": {},
        }
        kind = EventKind.ADOPTED if adopted else EventKind.APPLIED
        body = {"receipt": receipt, "digest": self.digest, **self._amount()}
        number = self.event(kind, actor=story.worker, body=body)
        sealed, _ = story.seal(canonical(proof))
        self.settled(EffectState.APPLIED)
        self.values |= {"receipt_id": receipt, "proof_id": sealed, "adopted": adopted, "applied_no": number}
        self.money(reserved=-(wanted.minor or 0), spent=wanted.minor or 0)
        return proof

    def failed(self, code: str, message: str) -> None:
        """Let the vendor have refused for good."""
        self.story.pass_time(0.05, 0.9)
        self.settled(EffectState.FAILED)
        self.values["failure"] = f"{code}: {message}"
        self.money(reserved=-(self.wanted.minor or 0))
        self.event(EventKind.FAILED, actor=self.story.worker, words=message, body={"code": code})

    def no_answer(self, message: str) -> None:
        """Let the vendor's answer have been lost."""
        self.story.pass_time(1, 10)
        self.event(EventKind.NO_ANSWER, actor=self.story.worker, words=message, body={"saved": False})

    def in_doubt(self, sentence: str) -> None:
        """Let a person be asked what became of it, and nobody have said so yet."""
        reason = Attention.IN_DOUBT.value
        self.values |= {"state": EffectState.IN_DOUBT.value, "next_look_at": self.story.now}
        self.event(EventKind.IN_DOUBT, body={"reason": reason})
        wait = self.story.attention(Attention.IN_DOUBT, sentence, effect=self.id, key=self.key)
        self.story.note_wait(wait)

    def looked_up(self, found: str) -> None:
        """Let a look-up have settled nothing."""
        self.story.pass_time(0.1, 1)
        self.values["looks"] += 1
        self.event(EventKind.LOOKED_UP, actor=self.story.worker, body={"found": found})

    def close(self) -> None:
        """Write the effect's row down as it stands now."""
        self.story.rows.write("durable_effect", *[self.values[name] for name in _FIELDS])

    def settled(self, to: EffectState) -> None:
        """Note that nothing of it is open any more."""
        self.values |= {
            "state": to.value,
            "open_sends": 0,
            "settled_at": self.story.now,
            "next_look_at": None,
        }

    def _amount(self) -> dict[str, Any]:
        if self.wanted.minor is None:
            return {}
        return {"amount_minor": self.wanted.minor, "currency": self.wanted.currency}

    def money(self, *, reserved: int, spent: int = 0) -> None:
        """Move its money in the run's purse. Undos stand outside the limit; so does what moves no money."""
        if self.wanted.minor is not None and self.undo_of is None:
            purse = self.story.spent[self.wanted.currency]
            purse[0] += reserved
            purse[1] += spent

    def event(self, kind: EventKind, **more: Any) -> int:
        """Append an event about it; returns its number in the run."""
        return self.story.event(kind, self.key, **more)
