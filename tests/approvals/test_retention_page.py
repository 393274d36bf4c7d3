"""Retention and legal holds in the console: who may, what is shown before saving, and that it is saved as shown."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from durable import holds
from durable.models import Checkpoint, LedgerEvent, LegalHold, RetentionPolicy, Run, Subject
from durable.models.fields import Clock
from durable.retention import passes
from durable.states import RunState
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db(transaction=True)
TERMS = {"checkpoints": "3", "frozen": "7", "messages": "", "payloads": "", "ledger": ""}


def ended(days: int = 5, rows: int = 4) -> Run:
    """A run that ended so many days ago, with checkpoints all but one of which may go."""
    claim = factories.running()
    factories.propose(claim, order="8812", amount="20", currency="EUR")
    run = Run.objects.get(pk=claim.run_id)
    run.effects.update(state="withdrawn")
    assert run.branch is not None
    for version in range(1, rows + 1):
        Checkpoint.objects.create(
            run=run, version=version, kind="step", step="a", visit=version, next_step="a", next_visit=1, attempt=1,
            state={}, state_version=version, progress={}, branch=run.branch, message_count=0,
        )  # fmt: skip
    Run.objects.filter(pk=run.pk).update(
        state=RunState.COMPLETED.value,
        version=rows,
        ended_at=Clock() - timedelta(days=days),
        lease_until=None,
    )
    return run


def shown_of(page: str) -> str:
    found = re.search(r'name="shown" value="([^"]+)"', page)
    assert found is not None
    return found[1]


def test_a_policy_is_saved_only_as_it_was_shown_with_what_it_would_delete(sign_in: SignIn) -> None:
    ended()
    ada = sign_in(factories.person("ada"))
    page = ada.get(reverse("retention-change"), TERMS)
    line = next(one for one in page.context["survey"]["lines"] if one["kind"] == "checkpoints")
    assert line["rows"] == 3 and "becomes" in page.content.decode()
    shown = shown_of(page.content.decode())
    other = ada.post(
        reverse("retention-policies"), TERMS | {"checkpoints": "1", "reason": "x", "shown": shown}
    )
    assert other.status_code == 422 and RetentionPolicy.objects.count() == 1
    saved = ada.post(reverse("retention-policies"), TERMS | {"reason": "less to lose", "shown": shown})
    assert saved.status_code == 303
    assert RetentionPolicy.objects.order_by("-pk")[0].checkpoints == 3
    (act,) = LedgerEvent.objects.filter(kind="retention changed")
    assert '"shown":{"checkpoints":3,"frozen":0}' in act.body
    again = ada.post(reverse("retention-policies"), TERMS | {"reason": "again", "shown": shown})
    assert again.status_code == 409


def test_where_much_more_would_go_by_now_it_is_shown_again(sign_in: SignIn) -> None:
    ada = sign_in(factories.person("ada"))
    shown = shown_of(ada.get(reverse("retention-change"), TERMS).content.decode())
    ended(rows=1_100)
    answer = ada.post(reverse("retention-policies"), TERMS | {"reason": "less", "shown": shown})
    assert answer.status_code == 409 and RetentionPolicy.objects.count() == 1
    assert "more would go by now" in answer.content.decode() and "1,099" in answer.content.decode()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"ledger": "300"}, "366"),
        ({"ledger": "400"}, "before the ledger"),
        ({"checkpoints": "-1"}, "greater"),
    ],
)
def test_a_policy_that_would_be_refused_is_refused_at_the_field_and_nothing_is_shown(
    sign_in: SignIn, change: dict[str, str], word: str
) -> None:
    page = sign_in(factories.person("ada")).get(reverse("retention-change"), TERMS | change)
    assert word in page.content.decode() and "survey" not in page.context


@pytest.mark.parametrize("who", [*factories.ROLES, "nobody"])
def test_who_sees_and_who_may_change_retention(sign_in: SignIn, client: object, who: str) -> None:
    from django.test import Client

    browser = Client() if who == "nobody" else sign_in(factories.person(who))
    statuses = [
        browser.get(reverse("retention")).status_code,
        browser.get(reverse("legal-holds")).status_code,
        browser.get(reverse("retention-change")).status_code,
        browser.post(reverse("retention-policies")).status_code,
        browser.post(reverse("hold-orders")).status_code,
        browser.post(reverse("hold-liftings", args=[1])).status_code,
    ]
    expected = {
        "nobody": [302] * 6,
        "ada": [200, 200, 200, 422, 422, 409],
        "rita": [200, 200, 403, 403, 422, 409],
    }
    assert statuses == expected.get(who, [403] * 6)
    assert not LegalHold.objects.exists() and RetentionPolicy.objects.count() == 1


def test_the_page_says_what_is_kept_how_long_and_what_went(sign_in: SignIn) -> None:
    ended(days=30)
    passes.daily()
    page = sign_in(factories.person("rita")).get(reverse("retention"), {"look": "due"}).content.decode()
    for shown in ("7 days", "for ever", "What goes next", "Storage by kind", "done"):
        assert shown in page, shown


@pytest.mark.parametrize(
    ("scope", "about"), [("run", ""), ("subject", "order:8812"), ("search", "order:8812 amount:20")]
)
def test_a_hold_is_set_and_lifted_and_what_is_held_says_so(sign_in: SignIn, scope: str, about: str) -> None:
    run = ended()
    rita = sign_in(factories.person("rita"))
    form = {"scope": scope, "about": about or run.ref, "reason": "Ann goes to court"}
    assert rita.post(reverse("hold-orders"), form).status_code == 303
    hold = LegalHold.objects.get()
    hash = Subject.objects.get(run=run).hash
    for address in (
        reverse("run", args=[run.ref]), reverse("dossier-run", args=[run.ref]),
        reverse("dossier-subject", args=[hash]), reverse("effect", args=[run.effects.get().key]),
    ):  # fmt: skip
        assert f"Hold {hold.pk}, set by" in rita.get(address).content.decode(), address
    LegalHold.objects.update(trouble="too many names")
    listed = rita.get(reverse("legal-holds")).content.decode()
    assert "Ann goes to court" in listed and "Stands" in listed and "nothing at all is deleted" in listed
    lifting = reverse("hold-liftings", args=[hold.pk])
    assert rita.post(lifting, {"reason": ""}).status_code == 422
    assert rita.post(lifting, {"reason": "settled"}).status_code == 303
    assert rita.post(lifting, {"reason": "settled"}).status_code == 409
    assert "Under legal hold" not in rita.get(reverse("run", args=[run.ref])).content.decode()
    assert "nothing at all is deleted" not in rita.get(reverse("legal-holds")).content.decode()


@pytest.mark.parametrize(
    "form", [{"scope": "run", "about": "run-none"}, {"scope": "subject", "about": "8812"},
             {"scope": "search", "about": "amount:lots"}, {"scope": "all", "about": "x"}]
)  # fmt: skip
def test_a_hold_of_nothing_is_refused_in_words(sign_in: SignIn, form: dict[str, str]) -> None:
    answer = sign_in(factories.person("rita")).post(reverse("hold-orders"), form | {"reason": "a claim"})
    assert answer.status_code in (409, 422) and 'role="alert"' in answer.content.decode()
    assert not LegalHold.objects.exists()


def test_the_form_begins_with_what_the_link_names(sign_in: SignIn) -> None:
    run = ended()
    rita = sign_in(factories.person("rita"))
    link = re.search(r'href="([^"]+#set)"', rita.get(reverse("run", args=[run.ref])).content.decode())
    assert link is not None
    page = rita.get(link[1].partition("#")[0]).content.decode()
    assert f'value="{run.ref}"' in page and 'id="set" open>' in page
    holds.set_on_run(run.ref, actor="rita", reason="a claim")
    assert "#set" not in rita.get(reverse("run", args=[run.ref])).content.decode()
