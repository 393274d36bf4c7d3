"""Who may not is told which right is missing and who can give it; and what somebody typed is never lost."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from approvals.views import kept
from durable import standing
from durable.models import Run
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_commands import stuck
from tests.approvals.test_verdicts import doubtful

pytestmark = pytest.mark.django_db

OURS = {"Sec-Fetch-Site": "same-origin"}
WORDS = "The parcel never came back."


def held(run: Run) -> bool:
    run.refresh_from_db()
    return run.held


def field(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, name
    return unescape(found.group(1))


def test_a_page_that_is_refused_names_the_right_and_who_gives_it(sign_in: SignIn) -> None:
    User.objects.filter(pk=factories.person("ada").pk).update(first_name="Ada", last_name="Lindqvist")
    page = sign_in(factories.person("charlie")).get(reverse("ledger")).content.decode()
    assert "It needs the right to read the ledger." in page and "Nothing was changed." in page
    assert "You are signed in as Charlie (No role)" in page and "Ada Lindqvist" in page


def test_the_way_back_from_a_refusal_is_no_other_refusal(sign_in: SignIn) -> None:
    gate = factories.gate()
    rita = sign_in(factories.person("rita"))
    page = rita.post(reverse("holds", args=[gate.effect.run.ref]), {"reason": "x"}).content.decode()
    assert "It needs the right to hold, release, cancel" in page
    way = re.search(r'class="btn btn-main" href="([^"]+)"', page)
    assert way and rita.get(way.group(1)).status_code == 200
    nowhere = sign_in(factories.person("charlie")).get("/").content.decode()
    assert "btn-main" not in nowhere and "Sign out" in nowhere


def test_what_a_stranger_typed_passes_through_the_sign_in_and_is_then_sent_by_hand() -> None:
    run = factories.gate().effect.run
    factories.person("olga")
    address = reverse("holds", args=[run.ref])
    client = Client()
    said = {"reason": WORDS, "seen": standing.of(run).stop}
    door = client.post(address, said, headers=OURS)
    assert door.status_code == 403 and not held(run)
    text = field(door.content.decode(), "kept")
    wrong = client.post(reverse("sign-in"), {"username": "olga", "password": "no", "kept": text})
    assert field(wrong.content.decode(), "kept") == text
    inside = {"username": "olga", "password": factories.PASSWORD, "kept": text}
    offered = client.post(reverse("sign-in"), inside)
    assert WORDS in offered.content.decode() and f'action="{address}"' in offered.content.decode()
    assert "no-store" in offered["Cache-Control"] and not held(run)
    assert client.post(address, said).status_code == 303 and held(run)


def test_a_page_from_before_the_last_sign_in_keeps_the_text_and_says_who_is_here_now() -> None:
    run = factories.gate().effect.run
    client = Client(enforce_csrf_checks=True)
    client.force_login(factories.person("olga"))
    said = {"reason": WORDS, "seen": standing.of(run).stop}
    answer = client.post(reverse("holds", args=[run.ref]), said, headers=OURS)
    page = answer.content.decode()
    assert answer.status_code == 403 and not held(run)
    assert WORDS in page and "You are signed in as Olga (Operator)." in page
    assert page.count("<textarea") == 1  # what the page put there by itself is not shown as typed
    again = {**said, "csrfmiddlewaretoken": field(page, "csrfmiddlewaretoken")}
    assert client.post(reverse("holds", args=[run.ref]), again, headers=OURS).status_code == 303 and held(run)


@pytest.mark.parametrize("sender", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}, {}])
def test_no_other_site_can_have_its_words_offered(sender: dict[str, str]) -> None:
    run = factories.gate().effect.run
    olga = Client(enforce_csrf_checks=True)
    olga.force_login(factories.person("olga"))
    for client in (olga, Client()):
        answer = client.post(reverse("holds", args=[run.ref]), {"reason": WORDS}, headers=sender)
        assert WORDS not in answer.content.decode() and "kept" not in answer.content.decode()
    forged = {"username": "olga", "password": factories.PASSWORD, "kept": "made:up:here"}
    assert Client().post(reverse("sign-in"), forged).status_code == 302


def test_a_password_is_never_kept() -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post(reverse("sign-in"), {"username": "olga", "password": "secret word"}, headers=OURS)
    assert answer.status_code == 403 and b"secret word" not in answer.content
    assert kept.unpacked("") is None


def test_what_was_typed_says_whose_it_is_where_somebody_else_signs_in_and_shows_no_field_of_a_machine() -> (
    None
):
    effect = doubtful()
    factories.person("olga"), factories.person("otto").groups.set(Group.objects.filter(name="operator"))
    client = Client()
    client.post(reverse("sign-in"), {"username": "olga", "password": factories.PASSWORD})
    client.session.flush()
    said = {"verdict": "happened", "reason": WORDS, "receipt": "po_77", "seen": "0" * 16, "undoes": "0" * 24}
    said |= {"owner": "olga", "within": "3600", "candidate": "", "amount": ""}
    door = client.post(reverse("verdicts", args=[effect.key]), said, headers=OURS)
    inside = {
        "username": "otto",
        "password": factories.PASSWORD,
        "kept": field(door.content.decode(), "kept"),
    }
    page = client.post(reverse("sign-in"), inside).content.decode()
    assert "it is in your name: otto. It was typed while olga was signed in here" in page
    assert re.findall(r'<textarea[^>]* name="([^"]*)"', page) == ["reason", "receipt"]


def test_what_was_kept_for_too_long_is_gone_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    run = factories.gate().effect.run
    factories.person("olga")
    client = Client()
    door = client.post(reverse("holds", args=[run.ref]), {"reason": WORDS, "seen": "0" * 24}, headers=OURS)
    inside = {
        "username": "olga",
        "password": factories.PASSWORD,
        "kept": field(door.content.decode(), "kept"),
    }
    monkeypatch.setattr(kept, "KEPT", timedelta(seconds=-1))
    page = client.post(reverse("sign-in"), inside, follow=True).content.decode()
    assert "What you had typed before was kept for 12 hours, and is gone." in page and WORDS not in page


def test_a_state_that_was_typed_while_the_run_moved_on_is_still_there(sign_in: SignIn) -> None:
    run = stuck()
    olga = sign_in(factories.person("olga"))
    said = {"reason": WORDS, "state": '{"order": "8812", "typed": "by hand"}', "seen": "0" * 24}
    page = olga.post(reverse("state", args=[run.ref]), said)
    again = re.search(r'id="again".*?</section>', page.content.decode(), re.DOTALL)
    assert page.status_code == 409 and again is not None
    assert WORDS in again[0] and "typed&quot;: &quot;by hand" in again[0]
