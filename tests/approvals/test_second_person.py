"""A second person's word on an effect in doubt: above the limit nobody settles alone, whatever they say moved."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from approvals import access, verdict_access
from approvals.capabilities import Capability
from approvals.errors import Refused
from durable import doubts, verdicts
from durable.errors import Conflict
from durable.models import Effect, LedgerEvent, Run, Wait
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_doubts import asked, kinds, large
from tests.approvals.test_verdicts import doubtful, radios, say

__all__ = ["large"]

pytestmark = pytest.mark.django_db


def test_above_the_limit_the_first_verdict_is_a_proposal(olga: Client, large: Effect) -> None:
    assert say(olga, large, "happened", receipt="po_77").status_code == 303
    large.refresh_from_db()
    assert large.state == "in doubt" and kinds(large)[-1] == "verdict proposed"
    proposed = doubts.proposal(asked(large))
    assert proposed is not None
    assert (proposed["verdict"], proposed["receipt"], proposed["by"]) == ("happened", "po_77", "olga")
    assert Run.objects.get(pk=large.run_id).state == "suspended"


def test_to_the_second_person_the_candidate_that_was_proposed_is_chosen(
    olga: Client, large: Effect, sign_in: SignIn
) -> None:
    say(olga, large, "happened", candidate="po_77")
    page = sign_in(factories.person("alice")).get(reverse("effect", args=[large.key])).content.decode()
    assert radios(page) == {"": False, "po_77": True}


def test_nobody_confirms_their_own_proposal(olga: Client, large: Effect) -> None:
    say(olga, large, "happened", receipt="po_77")
    answer = say(olga, large, "happened", receipt="po_77")
    assert answer.status_code == 409 and "another person must agree" in answer.context["problem"]
    large.refresh_from_db()
    assert large.state == "in doubt"


def test_another_spelling_of_the_same_name_is_no_second_person(large: Effect) -> None:
    first, again = (
        partial(verdicts.happened, large.key, actor=name, reason="seen", receipt_id="po_77")
        for name in ("olga", "Olga")
    )
    assert first() is False
    with pytest.raises(Conflict, match="another person must agree"):
        again()


def test_another_persons_equal_verdict_settles_it(olga: Client, large: Effect, sign_in: SignIn) -> None:
    say(olga, large, "happened", receipt="po_77")
    alice = sign_in(factories.person("alice"))
    assert say(alice, large, "happened", receipt="po_77").status_code == 303
    large.refresh_from_db()
    assert (large.state, large.receipt_id) == ("applied", "po_77")
    page = alice.get(reverse("effect", args=[large.key])).content.decode()
    assert "gave a verdict: happened (proposed by Olga)" in page
    event = LedgerEvent.objects.get(effect_key=large.key, kind="verdict")
    assert event.actor == "alice" and '"proposed_by":"olga"' in event.body


def test_another_receipt_is_no_agreement(olga: Client, large: Effect, sign_in: SignIn) -> None:
    say(olga, large, "happened", receipt="po_77")
    bob = factories.person("bob")
    bob.groups.add(Group.objects.get(name="operator"))
    say(sign_in(bob), large, "happened", receipt="po_78")
    large.refresh_from_db()
    assert large.state == "in doubt" and kinds(large).count("verdict proposed") == 2


@pytest.mark.parametrize(
    "other",
    [
        {"verdict": "did not"},
        {"verdict": "undo", "receipt": "po_77"},
        {"verdict": "can't tell", "owner": "olga"},
        {"verdict": "happened", "receipt": "po_78"},
        {"verdict": "happened", "receipt": "po_78", "amount": "9999"},
        {"verdict": "happened", "receipt": "po_78", "amount": "25"},
    ],
)
def test_a_reviewer_only_agrees_and_never_proposes(
    other: dict[str, str], olga: Client, large: Effect, sign_in: SignIn
) -> None:
    alice = sign_in(factories.person("alice"))
    assert say(alice, large, **other).status_code == 403
    say(olga, large, "happened", receipt="po_77")
    answer = say(alice, large, **other)
    assert (
        answer.status_code == 403
        and "exactly what was proposed, happened, po_77" in answer.context["problem"]
    )
    verdicts = alice.get(reverse("effect", args=[large.key])).context["verdicts"]
    assert [choice["value"] for choice in verdicts["choices"] if choice["allowed"]] == ["happened"]
    assert kinds(large).count("verdict proposed") == 1 and "left in doubt" not in kinds(large)


def test_two_reviewers_without_the_right_to_settle_settle_nothing_of_their_own(
    olga: Client, large: Effect, sign_in: SignIn
) -> None:
    say(olga, large, "happened", receipt="po_77")
    for name in ("alice", "bob"):
        other = say(sign_in(factories.person(name)), large, "happened", receipt="po_666", amount="9999")
        assert other.status_code == 403
    large.refresh_from_db()
    proposed = doubts.proposal(asked(large))
    assert large.state == "in doubt" and proposed is not None and proposed["by"] == "olga"


def test_who_has_lost_the_right_meanwhile_settles_nothing(large: Effect) -> None:
    person = factories.person("olga")
    assert access.may(person, Capability.SETTLE)  # what this object is known to may do is of before
    person.groups.clear()
    check = partial(verdict_access.check_verdict, person)
    with pytest.raises(Refused, match="right to settle"):
        verdicts.happened(large.key, actor="olga", reason="seen", receipt_id="po_77", check=check)
    with pytest.raises(Refused, match="right to settle"):
        doubts.leave(
            large.key, actor="olga", reason="x", owner="olga", within=timedelta(hours=1), check=check
        )
    assert not {"verdict", "verdict proposed", "left in doubt"} & set(kinds(large))


def test_a_wrong_receipt_that_one_has_proposed_can_be_corrected(olga: Client, large: Effect) -> None:
    say(olga, large, "happened", receipt="po_78")
    page = olga.get(reverse("effect", args=[large.key])).context["verdicts"]
    assert page["choices"][0]["allowed"]
    assert say(olga, large, "happened", receipt="po_77").status_code == 303
    proposed = doubts.proposal(asked(large))
    assert proposed is not None and proposed["receipt"] == "po_77"


@pytest.mark.parametrize(
    "typed", [{"receipt": "po_99", "amount": "90000"}, {"receipt": "po_99", "amount": "25.01"}]
)
def test_nobody_alone_signs_that_more_than_the_limit_moved(
    typed: dict[str, str], olga: Client, settings: Any, sign_in: SignIn
) -> None:
    settings.VERDICT_ALONE_LIMIT = 25
    effect = doubtful()
    assert (
        "up to 25 EUR" in olga.get(reverse("effect", args=[effect.key])).context["verdicts"]["threshold_note"]
    )
    for verdict in ("happened", "undo"):
        assert say(olga, effect, verdict, **typed).status_code == 303
        effect.refresh_from_db()
        assert effect.state == "in doubt" and kinds(effect)[-1] == "verdict proposed"
    shown = olga.get(reverse("effect", args=[effect.key])).context["verdicts"]["proposed"]
    assert (shown["said"], shown["receipt"], shown["own"]) == ("undo", "po_99", True)
    assert say(sign_in(factories.person("alice")), effect, "undo", **typed).status_code == 303
    effect.refresh_from_db()
    assert (effect.state, effect.receipt_id) == ("applied", "po_99")


def test_nobody_alone_takes_over_a_candidate_above_the_limit(olga: Client, settings: Any) -> None:
    settings.VERDICT_ALONE_LIMIT = 25
    effect = doubtful()
    wait = asked(effect)
    candidates = [{**wait.detail["candidates"][0], "amount": "25.01"}]
    Wait.objects.filter(pk=wait.pk).update(detail={**wait.detail, "candidates": candidates})
    say(olga, effect, "happened", candidate="po_77")
    effect.refresh_from_db()
    assert effect.state == "in doubt" and kinds(effect)[-1] == "verdict proposed"


def test_what_was_proposed_above_the_limit_is_not_settled_alone_for_less(olga: Client, settings: Any) -> None:
    settings.VERDICT_ALONE_LIMIT = 25
    effect = doubtful()
    say(olga, effect, "happened", receipt="po_99", amount="90000")
    say(olga, effect, "happened", receipt="po_99")
    effect.refresh_from_db()
    assert effect.state == "in doubt" and kinds(effect).count("verdict proposed") == 2


def test_up_to_the_limit_one_person_is_enough(olga: Client, settings: Any) -> None:
    settings.VERDICT_ALONE_LIMIT = 25
    effect = doubtful()
    say(olga, effect, "happened", receipt="po_77")
    effect.refresh_from_db()
    assert effect.state == "applied"
