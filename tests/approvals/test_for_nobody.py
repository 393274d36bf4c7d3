"""Gates that wait for nobody: the list of them knows of every hand, as the page of each does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from approvals import access
from approvals.models import Gate
from durable.journal import record
from durable.models import Run
from durable.states import EventKind
from tests import factories
from tests.approvals.answering import edited

pytestmark = pytest.mark.django_db


def asked() -> Gate:
    """A gate of a run that alice has asked for."""
    return factories.gate("alice")


def did(kind: EventKind) -> Gate:
    gate = asked()
    record(gate.effect.run, kind, actor="bob")
    return gate


def forked_from_a_run_of_bobs() -> Gate:
    gate = asked()
    parent = factories.gate("BOB@example.com").effect.run
    Run.objects.filter(pk=gate.effect.run_id).update(parent=parent)
    return gate


def of_a_fork_whose_parent_was_edited() -> Gate:
    gate = asked()
    parent = factories.gate().effect.run
    record(parent, EventKind.STATE_EDITED, actor="bob")
    Run.objects.filter(pk=gate.effect.run_id).update(parent=parent)
    return gate


@pytest.mark.parametrize(
    "made",
    [
        lambda: did(EventKind.STATE_EDITED),
        lambda: did(EventKind.FORKED),
        lambda: did(EventKind.NEW_ROUND),
        lambda: edited(asked(), User.objects.get(username="bob")),
        forked_from_a_run_of_bobs,
        of_a_fork_whose_parent_was_edited,
    ],
)
def test_a_gate_in_which_each_who_may_decide_had_a_hand_is_listed_and_no_other_is(
    made: Callable[[], Gate],
) -> None:
    olga = factories.person("olga")
    for name in ("alice", "bob"):
        factories.person(name)
    User.objects.filter(username="olga").update(email="")
    gate = made()
    others = [asked(), did(EventKind.HELD), factories.gate(""), factories.gate("bob")]
    listed = set(access.for_nobody(olga).values_list("pk", flat=True))
    assert gate.pk in listed and listed.isdisjoint(one.pk for one in others)
    waiting = Gate.objects.select_related("effect__run").filter(state="open")
    assert listed == {one.pk for one in waiting if not access.eligible(one)}


def test_a_decider_without_an_address_did_not_ask_for_a_run_of_which_nobody_is_known_to_have_asked() -> None:
    alice = factories.person("alice")
    User.objects.filter(pk=alice.pk).update(email="")
    gate = factories.gate("")
    assert access.eligible(gate) == [alice]
    assert not access.for_nobody(alice).exists()
