"""Gates of a story: people are asked about an effect, and answer, or don't."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings

from approvals.states import GateState, Verdict
from durable.journal import ENGINE
from durable.states import EffectState, EventKind, WaitKind, WaitState
from durable.waits import REVIEWER
from local.demodata.acts import Act
from local.demodata.rows import canonical

_BROWSER = "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0"
TOO_LATE = "nobody decided in time; propose it again if it is still needed"


def moved(before: StrEnum, after: StrEnum) -> dict[str, Any]:
    """A change of state, as an act's event tells it."""
    return {"before": {"state": before.value}, "after": {"state": after.value}}


class Gate:
    """The gate of an effect's first round. Its row is written when it is answered, used or left open."""

    def __init__(self, act: Act, reason: str, *, said: str, facts: dict[str, str] | None = None) -> None:
        """Open it, because of `reason`, with what the agent said and the facts that the effect rests on."""
        self.act, self.reason = act, reason
        self.story = story = act.story
        act.values["state"] = EffectState.GATED.value
        if facts is not None:
            act.values["facts_id"], _ = story.seal(canonical(facts))
        if said:
            act.values["said_id"], _ = story.seal(canonical(said))
        step, visit, _ordinal = act.place
        self.wait = story.wait(
            WaitKind.GATE,
            act.key,
            (step, visit, 1),
            effect=act.id,
            waits_for=REVIEWER,
            within=settings.GATE_DECIDE_SECONDS,
        )
        self.id = story.rows.new_id("approvals_gate")
        act.event(EventKind.GATED, words=reason, body={"round": 1, "digest": act.digest})

    def approved(self, person: str) -> None:
        """Let a person say yes."""
        body = self._decision(person, Verdict.APPROVE, "")
        body |= moved(EffectState.GATED, EffectState.APPROVED)
        self.act.event(EventKind.APPROVED, actor=person, body=body)
        self.story.note_wait(self.wait, WaitState.RESOLVED, by=person, answer={"verdict": "approve"})
        self.act.values |= {"state": EffectState.APPROVED.value, "approved_round": 1}
        self._yes = self.story.now

    def used(self) -> None:
        """Let the effect out by the yes that was given."""
        now, act_by = self.story.pass_time(0.01, 0.1), self._yes + settings.GATE_ACT_SECONDS
        self._note(GateState.APPROVED, self._yes, act_by=act_by, used_at=now)
        self.act.send()

    def rejected(self, person: str, words: str) -> None:
        """Let a person say no."""
        body = self._decision(person, Verdict.REJECT, words)
        self._refused(EffectState.REJECTED, EventKind.REJECTED, WaitState.RESOLVED, person, words, body)

    def expired(self) -> None:
        """Let the time to decide run out."""
        assert self.wait.deadline is not None
        self.story.now = self.wait.deadline + timedelta(seconds=1)
        self._refused(EffectState.EXPIRED, EventKind.EXPIRED, WaitState.EXPIRED, ENGINE, TOO_LATE, {})

    def withdrawn(self, words: str) -> None:
        """Take the effect back, which never left, because its run is to stop."""
        self._refused(EffectState.WITHDRAWN, EventKind.WITHDRAWN, WaitState.WITHDRAWN, ENGINE, words, {})

    def asked_back(self, person: str, words: str) -> None:
        """Let a person ask before deciding, and nobody answer."""
        body = self._decision(person, Verdict.ASK_BACK, words)
        self.act.event(EventKind.ASKED_BACK, actor=person, words=words, body=body)
        self.left_open(GateState.ASKED_BACK)

    def left_open(self, state: GateState = GateState.OPEN) -> None:
        """Leave it as it stands when the story ends."""
        self._note(state)
        self.story.note_wait(self.wait)

    def _refused(
        self,
        to: EffectState,
        kind: EventKind,
        wait: WaitState,
        actor: str,
        words: str,
        body: dict[str, Any],
    ) -> None:
        act, story = self.act, self.story
        self._note(GateState(to.value), story.now)
        act.values["words_id"], _ = story.seal(canonical(words))
        act.settled(to)
        act.money(reserved=-(act.wanted.minor or 0))
        told = {"digest": act.digest, "round": 1, **body, **moved(EffectState.GATED, to)}
        act.event(kind, actor=actor, words=words, body=told)
        # Nobody has answered one that was taken back.
        answer = None if wait is WaitState.WITHDRAWN else {"verdict": to.value}
        story.note_wait(self.wait, wait, by=actor, answer=answer)

    def _decision(self, person: str, verdict: Verdict, words: str) -> dict[str, Any]:
        """Write a decision down; returns what the ledger says of it."""
        story, digest = self.story, self.act.digest
        where = {"words": words, "ip": f"192.0.2.{story.chance.randrange(1, 255)}", "browser": _BROWSER}
        sealed, _ = story.seal(canonical(where))
        number = story.rows.add(
            "approvals_decision",
            *(self.id, story.world.people[person], verdict.value, digest, 1, sealed, "password", story.now),
        )
        return {"digest": digest, "round": 1, "gate": self.id, "decision": number}

    def _note(
        self,
        state: GateState,
        closed: datetime | None = None,
        *,
        act_by: datetime | None = None,
        used_at: datetime | None = None,
    ) -> None:
        act, wait = self.act, self.wait
        self.story.rows.write(
            "approvals_gate",
            *(self.id, wait.id, act.id, 1, state.value, act.digest, act.values["payload_id"], self.reason, 1),
            *(wait.opened, wait.deadline, settings.GATE_ACT_SECONDS, act_by, used_at, closed),
        )
