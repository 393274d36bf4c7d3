"""What acts are about: found by the name that people type for it, and named with where it is to be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.urls import reverse

from approvals.log_query import ABOUT
from approvals.models import Gate
from approvals.queries import bodies, pages
from approvals.typed import quoted
from durable import acts
from durable.models import Effect, LedgerEvent
from durable.retention.terms import ABOUT as ABOUT_RETENTION
from durable.states import ActKind

_RUN = "run-"


@dataclass(frozen=True, slots=True)
class Object:
    """One object of an act: what it is called, and where a link leads; empty where nowhere."""

    label: str
    url: str


def address(about: str) -> str:
    """The query of the log's address for one object."""
    return urlencode({"q": f"{ABOUT}:{quoted(about)}"})


def about(found: QuerySet[LedgerEvent], name: str) -> list[QuerySet[LedgerEvent]]:
    """Acts on the object of this name, and those that concern it: on a run also what concerns its effects and gates."""
    chain, key, concerns = _target(name)
    of_chain = found.filter(run_ref=chain) if chain else found.none()
    if key:
        of_chain = of_chain.filter(effect_key=key)
    return [of_chain, found.filter(effect_key__in=concerns).exclude(run_ref=chain)]


def _target(name: str) -> tuple[str, str, list[str]]:
    """The chain, the effect's key where only that effect's events of it are meant, and what else names the object."""
    kind, _, number = name.partition(":")
    if name.startswith(_RUN):
        ref, _, key = name.partition(":")
        effects = Effect.objects.filter(run__ref=ref) if not key else Effect.objects.filter(key=name)
        keys = list(effects.values_list("key", flat=True))
        return ref, name if key else "", [name, *keys, *_gates(keys)]
    if kind == "gate":
        gate = (
            Gate.objects.filter(pk=pages.cursor(number) or 0)
            .values_list("effect__run__ref", "effect__key")
            .first()
        )
        return (*gate, [name]) if gate else ("", "", [name])
    if kind in ("person", "role") and pages.cursor(number) is None:
        number = _number(kind, number)
    chain = f"{kind}:{number}" if number else kind
    return chain, "", [chain]


def _gates(keys: Sequence[str]) -> list[str]:
    found = Gate.objects.filter(effect__key__in=keys).values_list("pk", flat=True)
    return [acts.about("gate", pk) for pk in found]


def _number(kind: str, name: str) -> str:
    """The number of a person or role by name, of one that is gone as the log has called it; 0 for nobody."""
    model, field = (User, "username") if kind == "person" else (Group, "name")
    found = model.objects.filter(**{field: name}).values_list("pk", flat=True).first()
    return str(found or 0)


def named(found: Sequence[LedgerEvent]) -> dict[int, list[Object]]:
    """For each act what it is about, and what else it concerns."""
    people = _names(User, "username", found, "person")
    roles = _names(Group, "name", found, "role")
    return {row.pk: _objects(row, {**people, **roles}) for row in found}


def _names(model: Any, field: str, found: Sequence[LedgerEvent], kind: str) -> dict[str, str]:
    numbers = {row.run_ref.partition(":")[2] for row in found if row.run_ref.startswith(f"{kind}:")}
    if not numbers:
        return {}
    rows = model.objects.filter(pk__in=numbers).values_list("pk", field)
    return {f"{kind}:{pk}": name for pk, name in rows}


def _objects(row: LedgerEvent, names: dict[str, str]) -> list[Object]:
    if row.run_ref.startswith(_RUN):
        return [_of_run(row.effect_key or row.run_ref)]
    body = bodies.said(row.body)
    shown = [_outside(row.run_ref, names.get(row.run_ref) or str(body.get("name") or ""))]
    shown += [_concerned(row.effect_key)] if row.effect_key else []
    if row.run_ref == acts.STRANGERS and row.kind != ActKind.SIGN_IN_REFUSED:
        shown = shown[1:]  # whoever it was stands there as the actor
    return [one for one in shown if one.label]


def _of_run(name: str) -> Object:
    return Object(name, reverse("effect" if ":" in name else "run", args=[name]))


def _concerned(name: str) -> Object:
    return _of_run(name) if name.startswith(_RUN) else _outside(name, "")


def _outside(chain: str, name: str) -> Object:
    """An object outside of runs: by its page, where it has one, else by all that was done to it."""
    kind, _, number = chain.partition(":")
    here = f"{reverse('acts')}?{address(chain)}"
    if kind == "gate":
        return Object(f"gate {number}", reverse("gate", args=[number]))
    if kind == "bulk":
        return Object(f"bulk act {number}", reverse("bulk-act", args=[number]))
    if kind == "erasure":
        return Object(f"erasure {number}", reverse("erasure", args=[number]))
    if kind == "statement":
        return Object(f"statement {number}", reverse("statement", args=[number]))
    if kind == "hold":
        return Object(f"legal hold {number}", f"{reverse('legal-holds')}#hold-{number}")
    if chain == ABOUT_RETENTION:
        return Object("retention", reverse("retention"))
    if kind == acts.STRANGERS:
        return Object("somebody unknown", here)
    label = {
        "person": name or f"person {number}",
        "role": f"role {name or number}",
        "right": f"right {name or number}",
    }
    return Object(label.get(kind, f"{kind} {number}".strip()), here)
