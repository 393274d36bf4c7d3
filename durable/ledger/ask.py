"""What a step, or a saga, asks the ledger for: a tool's act with its arguments, at a place of the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from durable import tools
from durable.digest import about, keyed_hash
from durable.errors import Invalid, UnknownTool
from durable.ledger.places import Place
from durable.models import Effect
from durable.states import EffectClass
from durable.tools import Facts, Proposal, Tool, Undo
from durable.vendor import Call, LookupAnswer, Receipt


def undo_facts(tool: Tool, undo: Undo) -> Facts:
    """Return what holds of a tool's undo: its vendor's facts, but a key's life of its own."""
    return replace(tool.facts, idempotent_for=undo.idempotent_for)


def facts_of(effect: Effect) -> Facts:
    """Return the facts of a recorded effect, forward or undo, as its tool declares them now. Raises UnknownTool."""
    tool = tools.get(effect.tool)
    if effect.undo_of_id is None:
        return tool.facts
    if tool.undo_act is None:
        raise UnknownTool(
            "tool", f"{tool.name} has lost the undo that {effect.key} was sent by; bring it back"
        )
    return undo_facts(tool, tool.undo_act)


@dataclass(frozen=True, slots=True)
class Ask:
    """One act as asked for: its functions at the vendor, its facts, its payload, its place.

    `undo_of` is the effect that this one undoes; then `undoes` is the receipt of that effect. `said` is what the
    agent has said in the asking step: for people, unproven, and no part of the payload.
    """

    tool: Tool
    proposal: Proposal
    place: Place
    effect_class: EffectClass
    facts: Facts
    send: Callable[[Call], Receipt]
    look: Callable[[Call], LookupAnswer] | None
    recheck: Callable[[Call], Mapping[str, Any]] | None = None
    undo_of: Effect | None = None
    undoes: Receipt | None = None
    said: str = ""

    @classmethod
    def of(cls, tool: Tool, args: Mapping[str, Any], place: Place) -> Ask:
        """Return the ask for a forward effect. Raises Invalid for a tool that only reads, or refused arguments."""
        if tool.facts.reads:
            raise Invalid("tool", f"{tool.name} only reads; ask it with run.call")

        def send(call: Call) -> Receipt:
            receipt: Receipt = tool.function(call, **tool.typed(call.args))
            return receipt

        return cls(
            tool,
            tool.proposal(args),
            place,
            tool.effect_class,
            tool.facts,
            send,
            tool.lookup_function,
            tool.recheck_function,
        )

    @classmethod
    def to_undo(cls, tool: Tool, undone: Effect, args: Mapping[str, Any], receipt: Receipt) -> Ask:
        """Return the ask for the act that undoes `undone`, which was applied with `args` and `receipt`."""
        undo = tool.undo_act
        if undo is None:
            raise UnknownTool("tool", f"{tool.name} has no undo")
        place = Place(undone.step, undone.visit, undone.ordinal)
        return cls(
            tool,
            tool.proposal(args),
            place,
            undo.effect_class,
            undo_facts(tool, undo),
            undo.function,
            undo.lookup,
            undo_of=undone,
            undoes=receipt,
        )

    @property
    def payload(self) -> dict[str, Any]:
        """The object whose canonical bytes the digest is over."""
        payload: dict[str, Any] = json.loads(self.proposal.canonical)
        return payload

    def once_per(self, secret: bytes) -> str:
        """A keyed hash of the business act that may happen once (`once_per`), empty where the tool declares none."""
        if self.proposal.once_per is None or self.undo_of is not None:
            return ""
        return keyed_hash(f"once:{self.tool.name}", self.proposal.once_per, secret)


def hashes_of(ask: Ask, secret: bytes) -> dict[str, str]:
    """Whom an ask is about: by kind, the keyed hash under which it is filed."""
    return {kind: keyed_hash(kind, value, secret) for kind, value in ask.proposal.subjects.items()}


def about_told(ask: Ask, key: str, secret: bytes) -> dict[str, Any]:
    """What the ledger is told of whom an ask under this key is about."""
    lines = [f"{kind} {hash}" for kind, hash in hashes_of(ask, secret).items()]
    return {"about": about(key, ask.once_per(secret), lines)}


def amount_told(ask: Ask) -> dict[str, Any]:
    """What the ledger is told of the money that an ask would move; nothing where it moves none."""
    proposal = ask.proposal
    if proposal.amount_minor is None:
        return {}
    return {"amount_minor": proposal.amount_minor, "currency": proposal.currency or ""}
