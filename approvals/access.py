"""Who may do what. The one place, with `verdict_access`: every view, button, form and command asks here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from django.contrib.auth.models import AnonymousUser, Permission, User
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, F, Model, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import JSONObject

from approvals import gate_rows, hands, memory
from approvals.capabilities import PERMISSIONS, ROLES, Capability
from approvals.errors import Refused
from approvals.models import Gate
from approvals.states import Verdict
from durable import holds
from durable.errors import NotFound
from durable.models import Chain, Effect, Purse, Run, StatementRequest, Subject
from durable.models.fields import Clock
from durable.sql import answers

#: Four eyes: a yes, and an edit that becomes what is sent, must come from somebody else than who asked or edited.
_NEEDS_ANOTHER = frozenset({Verdict.APPROVE, Verdict.EDIT})
_SPENT = ("budget__steps_used", "budget__tokens_used", "budget__tokens_reserved")
_HEAD = Chain.objects.filter(run_ref=OuterRef("run__ref")).values("no")
#: Asked by every page and twice by a decision: by hand, as the ORM takes longer to write it than the server to answer.
_HELD = """
SELECT 'role', g.name FROM auth_group g JOIN auth_user_groups m ON m.group_id = g.id WHERE m.user_id = %(user)s
UNION ALL
SELECT 'right', p.codename
FROM auth_permission p JOIN django_content_type t ON t.id = p.content_type_id AND t.app_label = 'approvals'
WHERE p.id IN (
    SELECT permission_id FROM auth_user_user_permissions WHERE user_id = %(user)s
    UNION ALL
    SELECT gp.permission_id FROM auth_group_permissions gp JOIN auth_user_groups m USING (group_id)
    WHERE m.user_id = %(user)s
)
"""
_GATES = Gate.objects.filter(effect=OuterRef("pk")).order_by("-round").values("pk")[:1]


class Missing(PermissionDenied):
    """Somebody may not do this for want of a right, which the message names for people, unless `words` say it."""

    def __init__(self, capability: Capability, words: str = "") -> None:
        super().__init__(words or f"It needs the right to {dict(PERMISSIONS)[capability.value]}.")
        self.capability = capability


def capabilities(user: User | AnonymousUser) -> frozenset[Capability]:
    """Return what the person may do now. Nothing for a stranger, or for somebody who was switched off.

    Asked once for one user object: a request has its own, and a decision loads the person anew under its locks.
    """
    if not isinstance(user, User) or not user.is_active:
        return frozenset()
    known = {capability.value: capability for capability in Capability}
    return frozenset(known[name] for name in _held(user)["right"] if name in known)


def _held(user: User) -> Mapping[str, Collection[str]]:
    """The names of a person's rights and of their roles, in one query; once for one user object."""

    def ask() -> Mapping[str, Collection[str]]:
        held: dict[str, set[str]] = {"right": set(), "role": set()}
        for what, name in answers(_HELD, {"user": user.pk}):
            held[what].add(name)
        return held

    return memory.once(user, "held", ask)


def may(user: User | AnonymousUser, capability: Capability) -> bool:
    """Whether the person may do this one thing."""
    return capability in capabilities(user)


def check(user: User | AnonymousUser, capability: Capability) -> None:
    """Raise Missing, a PermissionDenied, where the person may not do this."""
    if not may(user, capability):
        raise Missing(capability)


def actor(user: User) -> str:
    """How the ledger names a person."""
    return user.get_username()


def role(user: User | AnonymousUser) -> str:
    """The person's roles in words, for the page: the groups that Interlock knows."""
    if not isinstance(user, User):
        return ""
    held = _held(user)["role"]
    return ", ".join(name.capitalize() for name in ROLES if name in held) or "No role"


def gates(user: User | AnonymousUser) -> QuerySet[Gate]:
    """The gates that the person may see, open or over."""
    return Gate.objects.all() if may(user, Capability.SEE_GATES) else Gate.objects.none()


def read_at(loaded: Model) -> datetime:
    """When an object that was got here was read, by the database's clock (`clock`), in UTC."""
    clock: datetime = vars(loaded)["clock"]
    return clock.astimezone(UTC)


def find_gate(user: User, gate_id: int) -> Gate:
    """Return a gate of which no more is loaded than what a decision begins with; the rest comes when it is asked for.
    Raises Missing, or NotFound.
    """
    check(user, Capability.SEE_GATES)
    found = gate_rows.find(gate_id)
    if found is None:
        raise NotFound("no such gate")
    return found


def get_gate(user: User, gate_id: int) -> Gate:
    """Return a gate with its run's `purse` (or None) and the database's `clock`. Raises Missing, or NotFound."""
    check(user, Capability.SEE_GATES)
    purse = Purse.objects.filter(
        budget=OuterRef("effect__run__budget"), currency=OuterRef("effect__currency")
    ).values(found=JSONObject(limit="limit_minor", spent="spent_minor", reserved="reserved_minor"))
    found = (
        gates(user)
        .annotate(purse=Subquery(purse[:1]), clock=Clock())
        .select_related(
            "effect__run__budget", "effect__run__seal_key", "effect__facts", "effect__said", "wait", "payload"
        )
        .filter(pk=gate_id)
        .first()
    )
    if found is None:
        raise NotFound("no such gate")
    return found


def get_run(user: User, ref: str) -> Run:
    """Return a run with the legal holds that keep it (`legally_held`) and the database's `clock`. Raises Missing, or
    NotFound.
    """
    check(user, Capability.SEE_RUNS)
    rows = Run.objects.select_related("budget", "parent", "seal_key")
    rows = rows.annotate(legally_held=holds.told(), clock=Clock())
    found = rows.filter(ref=ref).first()
    if found is None:
        raise NotFound("no such run")
    return found


def glance(user: User, ref: str) -> tuple[object, ...]:
    """What tells a run's page from a newer one (`queries.run.version`), for a poll: right and row in one query."""
    held = Permission.objects.filter(
        Q(group__user=user) | Q(user=user),
        content_type__app_label="approvals",
        codename=Capability.SEE_RUNS.value,
    )
    head = Chain.objects.filter(run_ref=OuterRef("ref")).values("no")
    spent = Sum(F("reserved_minor") + 3 * F("spent_minor"))  # what passes from one to the other shows too
    money = Purse.objects.filter(budget=OuterRef("budget")).order_by().values("budget").annotate(all=spent)
    found: tuple[object, ...] | None = (
        Run.objects.filter(Exists(held), ref=ref)
        .annotate(no=Subquery(head), money=Subquery(money.values("all")))
        .values_list(
            "state",
            "step",
            "version",
            "attempt",
            "held",
            "changed_at",
            "message_count",
            "no",
            *_SPENT,
            "money",
        )
        .first()
        if user.is_active
        else None
    )
    if found is None:
        check(user, Capability.SEE_RUNS)
        raise NotFound("no such run")
    return found


def get_ledger_of_run(user: User, ref: str) -> Run:
    """Return a run whose effects the person may see. Raises as `get_run` does."""
    check(user, Capability.SEE_LEDGER)
    return get_run(user, ref)


def get_subject(user: User, hash: str) -> Subject:
    """Return any one row of a subject, by its keyed hash, with the database's `clock`. Raises Missing without the right
    to do so, or NotFound.
    """
    check(user, Capability.SEE_LEDGER)
    rows = Subject.objects.annotate(legally_held=holds.told_of_subject(), clock=Clock())
    found = rows.filter(hash=hash).first()
    if found is None:
        raise NotFound("no such subject")
    return found


def get_statement(user: User, number: int) -> StatementRequest:
    """Return a statement of a vendor, made or not. Raises Missing without the right to read the ledger, or NotFound."""
    check(user, Capability.SEE_LEDGER)
    found = StatementRequest.objects.filter(pk=number).first()
    if found is None:
        raise NotFound("no such statement")
    return found


def get_effect(user: User, key: str) -> Effect:
    """Return an effect with its `newest_gate` and `chain_no`, and the database's `clock`. Raises Missing without the
    right to it, or NotFound.
    """
    check(user, Capability.SEE_LEDGER)
    found = (
        Effect.objects.select_related("run__seal_key", "payload", "said", "undo_of")
        .annotate(newest_gate=Subquery(_GATES), chain_no=Subquery(_HEAD), legally_held=holds.told("run"))
        .annotate(clock=Clock())
        .filter(key=key)
        .first()
    )
    if found is None:
        raise NotFound("no such effect")
    return found


def why_not(person: User, gate: Gate, verdict: Verdict) -> str | None:
    """Return why this person may not give this answer to this gate, or None where they may.

    Whoever had a hand in it (see `hands`) may still say no; only a yes needs other eyes.
    """
    if not may(person, Capability.DECIDE):
        return "you do not have the right to decide at gates (any more)"
    if verdict not in _NEEDS_ANOTHER:
        return None
    # Whoever edited may edit again: that opens a round which somebody else decides.
    asked = hands.in_gate(gate).asked(person)
    had = stake(person, gate) if verdict is Verdict.APPROVE else asked
    return f"you {had}{' yourself' if asked else ''}; somebody else must say yes" if had else None


def check_decision(person: User, gate: Gate, verdict: Verdict) -> None:
    """Raise Refused where `why_not` has a reason."""
    reason = why_not(person, gate, verdict)
    if reason is not None:
        raise Refused(f"Not recorded: {reason}.")


def stake(person: User, gate: Gate) -> str | None:
    """Return why this person's yes would be no second pair of eyes, in words that follow a name; else None."""
    return hands.in_gate(gate).had(person)


def seconds(but: str) -> QuerySet[User]:
    """All active people who may be the second to give a verdict, without the one who signs in as `but`."""
    return (_holding(Capability.SETTLE) | _holding(Capability.DECIDE)).exclude(username=but)


def settlers() -> QuerySet[User]:
    """All active people who may say what became of an effect."""
    return _holding(Capability.SETTLE)


def deciders() -> QuerySet[User]:
    """All active people who may decide at gates."""
    return _holding(Capability.DECIDE)


def _holding(capability: Capability) -> QuerySet[User]:
    held = {"codename": capability.value, "content_type__app_label": "approvals"}
    by_group = Q(**{f"groups__permissions__{name}": value for name, value in held.items()})
    alone = Q(**{f"user_permissions__{name}": value for name, value in held.items()})
    return User.objects.filter(by_group | alone, is_active=True).distinct().order_by("username")


def for_nobody(user: User | AnonymousUser) -> QuerySet[Gate]:
    """The gates that wait although all who may decide had a hand in what they ask about: `eligible`, among many."""
    return gates(user).filter(pk__in=hands.nobody_left(deciders()))


def eligible(gate: Gate) -> list[User]:
    """Those who could approve this gate. Empty means that it waits for nobody, which an operator must be told."""
    return memory.once(gate, "eligible", lambda: [one for one in deciders() if stake(one, gate) is None])
