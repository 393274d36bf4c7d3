"""An effect in doubt as people find it: how it stands, with whom it is, and what one of them has proposed.

Above a limit (`VERDICT_ALONE_LIMIT`) one person's verdict settles nothing. It is recorded as a proposal, in the ledger
and on the wait that asks about the effect, and settles once another person says the same. Who can't tell leaves it in
doubt, with an owner and a time to look again. Software goes on asking the vendor meanwhile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from durable import acts, alone, clock, journal, ledger, runs, tools
from durable.beats import committing
from durable.errors import Conflict, Invalid, NotFound, UnknownTool
from durable.models import Effect, LedgerEvent, Run, Wait
from durable.models.fields import Clock
from durable.reconcile import SAFE_SHARE, key_is_good
from durable.states import ActKind, EffectState, EventKind, WaitKind, WaitState
from durable.text import check_text, cut, mend
from durable.transitions import lock_effect, lock_run
from durable.vendor import Receipt

#: When a person who can't tell may want to look again: from a minute to thirty days from now.
SOONEST, LATEST = timedelta(minutes=1), timedelta(days=30)
_HEARD = 500
#: The verdict that ends the run, and undoes all that it did.
UNDO = "undo"


@dataclass(frozen=True, slots=True)
class Said:
    """One person's verdict: the word, and for what happened the vendor's receipt, with an amount that was typed.

    `undoes` names how the run stood (`standing.Standing.undoes`) of which an undo was shown what it undoes.
    """

    verdict: str
    receipt: str = ""
    amount: Decimal | None = None
    undoes: str = ""

    def plain(self) -> dict[str, Any]:
        """The same as plain JSON."""
        found = {"verdict": self.verdict}
        if self.receipt:
            found["receipt"] = self.receipt
        if self.amount is not None:
            found["amount"] = format(self.amount, "f")
        if self.undoes:
            found["undoes"] = self.undoes
        return found


#: Asked under the locks, with what has been proposed and what is said now; raises what keeps the person from it.
Check = Callable[[Mapping[str, Any] | None, Said], None]


def find(effect_key: str) -> Effect:
    """Return an effect with its run. Raises NotFound."""
    found = Effect.objects.select_related("run").filter(key=effect_key).first()
    if found is None:
        raise NotFound(f"no effect {effect_key}")
    return found


def lock(
    effect_key: str, said: Said, *, seen: str = "", check: Check | None = None, settled: bool = False
) -> tuple[Run, Effect]:
    """Lock a run and its effect in doubt, or with `settled` in any state. Raises Conflict where it is settled, naming
    who did it, or where it no longer stands as `seen`, the `standing` that the person's page showed; and whatever
    `check` raises.
    """
    found = find(effect_key)
    run = lock_run(found.run.ref)
    effect = lock_effect(run, found.pk)
    if effect.state != EffectState.IN_DOUBT and not settled:
        by = f", settled by {last.actor}" if (last := last_word(effect)) is not None else ""
        raise Conflict(f"{effect_key} is {effect.state}{by}; only an effect in doubt can be settled by hand")
    asked = questions(effect)
    if check is not None:
        check(proposal(asked[0] if asked else None), said)
    if seen and seen != standing(effect, asked):
        raise Conflict(
            f"{effect_key} no longer stands as your page showed it; look how it stands now, and say it then"
        )
    return run, effect


def last_word(effect: Effect) -> LedgerEvent | None:
    """The event that settled an effect which somebody still believed in doubt."""
    kinds = [kind.value for kind in (EventKind.VERDICT, EventKind.ADOPTED, EventKind.APPLIED)]
    told = LedgerEvent.objects.filter(effect_key=effect.key, kind__in=kinds)
    return told.order_by("-no").first()


def questions(effect: Effect) -> list[Wait]:
    """The open waits that put an effect before people, oldest first."""
    asked = Wait.objects.filter(
        effect_id=effect.pk, kind=WaitKind.ATTENTION.value, state=WaitState.OPEN.value
    )
    return list(asked.order_by("id"))


def question(effect: Effect) -> Wait | None:
    """The oldest open wait about an effect: what is kept on it stays in one place."""
    return next(iter(questions(effect)), None)


def standing(effect: Effect, asked: Sequence[Wait], now: datetime | None = None) -> str:
    """A short name of all that a word about an effect depends on; `asked` are its open `questions`. It changes when
    somebody proposes or settles, or more is found or asked, and when "it did not happen" would mean something else:
    the run has turned back, or the key has grown too old to be repeated. `now` is the database's clock, if it is known.
    """
    told = [(wait.pk, wait.detail.get("proposal"), wait.detail.get("candidates")) for wait in asked]
    shown = (effect.state, effect.sends, effect.receipt_id, effect.run.state, _key_is_good(effect, now), told)
    return hashlib.sha256(repr(shown).encode()).hexdigest()[:16]


def standings(keys: Sequence[str]) -> dict[str, str]:
    """The `standing` of each of some effects, by key; two queries for all of them."""
    effects = list(Effect.objects.select_related("run").filter(key__in=keys))
    asked: dict[int, list[Wait]] = {effect.pk: [] for effect in effects}
    waits = Wait.objects.filter(
        effect_id__in=list(asked), kind=WaitKind.ATTENTION.value, state=WaitState.OPEN.value
    )
    for wait in waits.order_by("id"):
        assert wait.effect_id is not None
        asked[wait.effect_id].append(wait)
    return {effect.key: standing(effect, asked[effect.pk]) for effect in effects}


def _key_is_good(effect: Effect, now: datetime | None) -> bool:
    """Whether the same key could be sent again for one in doubt; not where its tool is unknown."""
    if effect.state != EffectState.IN_DOUBT:
        return False
    try:
        return key_is_good(effect, ledger.facts_of(effect), now or clock.db_now())
    except UnknownTool:
        return False


def proposal(asked: Wait | None) -> Mapping[str, Any] | None:
    """What has been proposed and waits for a second person: verdict, receipt, amount, by, at, no; or None."""
    found: Mapping[str, Any] | None = None if asked is None else asked.detail.get("proposal")
    return found


def same(proposed: Mapping[str, Any], said: Said) -> bool:
    """Whether a verdict is exactly what has been proposed: the word, the receipt, the amount, and what it undoes."""
    return {name: proposed[name] for name in proposed if name in _SAID} == said.plain()


def settles(
    run: Run, effect: Effect, said: Said, receipt: Receipt | None = None, *, actor: str, reason: str
) -> bool:
    """Record a verdict on a locked effect, and return whether it settles it. False: it stands as a proposal now.

    `receipt` is what would be adopted. What has been proposed once takes two people, whatever the second one says.
    Raises Conflict for whoever would agree with their own proposal.
    """
    body = {"verdict": said.verdict} | ({"undoes": said.undoes} if said.undoes else {})
    asked = question(effect)
    before = proposal(asked)
    if before is not None or alone.needs_second(effect, receipt, undoing=said.verdict == UNDO):
        if asked is None:
            raise Conflict(
                f"{effect.key}: nobody has been asked about it yet; the sweeper will call a person"
            )
        if before is None or not same(before, said):
            _propose(run, effect, asked, said, actor=actor, reason=reason)
            return False
        if alone.same_person(str(before["by"]), actor):
            raise Conflict(f"{effect.key}: you have proposed this yourself; another person must agree")
        body |= {"proposed_by": str(before["by"]), "proposal": before["no"]}
    journal.record(run, EventKind.VERDICT, effect_key=effect.key, actor=actor, words=reason, body=body)
    return True


_SAID = ("verdict", "receipt", "amount", "undoes")


def _propose(run: Run, effect: Effect, asked: Wait, said: Said, *, actor: str, reason: str) -> None:
    no = journal.record(
        run, EventKind.VERDICT_PROPOSED, effect_key=effect.key, actor=actor, words=reason, body=said.plain()
    )
    at = clock.db_now().isoformat()
    _keep(asked, proposal={**said.plain(), "by": actor, "at": at, "no": no})


def leave(
    effect_key: str,
    *,
    actor: str,
    reason: str,
    owner: str,
    within: timedelta,
    seen: str = "",
    check: Check | None = None,
) -> None:
    """Record that a person can't tell: it stays in doubt, with an owner who looks again `within` so long. Its money
    stays reserved, a proposal stands, and software goes on asking the vendor.
    """
    runs.check_actor(actor, reason)
    check_text(owner, "owner")
    if not owner.strip():
        raise Invalid("owner", "name who looks at it next")
    if not SOONEST <= within <= LATEST:
        raise Invalid("within", f"must be from {SOONEST} to {LATEST.days} days")
    with committing("command"):
        run, effect = lock(effect_key, Said("can't tell"), seen=seen, check=check)
        asked = question(effect)
        if asked is None:
            raise Conflict(
                f"{effect.key}: nobody has been asked about it yet; the sweeper will call a person"
            )
        at = (clock.db_now() + within).isoformat(timespec="seconds")
        body = {"owner": journal.one_line(owner), "look_at": at}
        journal.record(
            run, EventKind.LEFT_IN_DOUBT, effect_key=effect.key, actor=actor, words=reason, body=body
        )
        _keep(asked, owner=owner, look_at=at)


def look_now(effect_key: str, *, actor: str) -> None:
    """Let the sweeper ask the vendor about an effect in doubt with its next sweep, not only when that is due.

    Raises Conflict where it is not in doubt, or its vendor can't be asked.
    """
    runs.check_actor(actor, "asked through a page")
    with committing("command"):
        _, effect = lock(effect_key, Said("ask the vendor"))
        if not can_be_asked(effect):
            raise Conflict(f"{effect_key}: its tool has no look-up, so nobody but a person can find out")
        Effect.objects.filter(pk=effect.pk).update(next_look_at=Clock())
        acts.record(ActKind.LOOK_ASKED, actor=actor, about=effect.key)


def can_be_asked(effect: Effect) -> bool:
    """Whether software can ask the vendor what became of it. Raises UnknownTool."""
    tool = tools.get(effect.tool)
    if effect.undo_of_id is None:
        return tool.lookup_function is not None
    return tool.undo_act is not None and tool.undo_act.lookup is not None


def heard(effect: Effect, words: str, evidence: Mapping[str, Any] | None, sentence: str) -> None:
    """Keep on the wait of a locked effect what a look-up that settled nothing has said, and when.

    What was found replaces what was found before; a miss does not make it unseen.
    """
    asked = question(effect)
    if asked is None:
        return
    found: dict[str, Any] = {
        "heard": cut(mend(words), _HEARD),
        "heard_at": clock.db_now().isoformat(timespec="seconds"),
    }
    if evidence:
        found |= {**evidence, "sentence": mend(sentence)}
    _keep(asked, **found)


def _keep(asked: Wait, **more: Any) -> None:
    asked.detail = {**asked.detail, **more}
    Wait.objects.filter(pk=asked.pk, state=WaitState.OPEN.value).update(detail=asked.detail)


def safe_lives() -> dict[tuple[str, bool], timedelta]:
    """How long after its first send the same request may be repeated, by tool and whether it is the tool's undo; only
    where the vendor honours keys at all.
    """
    found = {}
    for tool in tools.all_tools():
        if tool.facts.idempotent_for is not None:
            found[tool.name, False] = tool.facts.idempotent_for * SAFE_SHARE
        if tool.undo_act is not None and tool.undo_act.idempotent_for is not None:
            found[tool.name, True] = tool.undo_act.idempotent_for * SAFE_SHARE
    return found
