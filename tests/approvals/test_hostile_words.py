"""Words from outside, on every page where they stand: shown for what they are, wherever they came in."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from durable import indexing, vault
from durable.digest import canonical, sha256
from durable.models import Effect, Run, Stop
from tests import factories
from tests.approvals.addresses import names
from tests.approvals.conftest import SignIn
from tests.approvals.house import House, full
from tests.approvals.matrix import POSTS
from tests.approvals.sharing import apart
from tests.approvals.test_query_bounds import kind_of

#: What no reader sees, or sees as something else; and how a page writes it.
UNSEEN = {
    "\u202e": "U+202E",
    "\u2066": "U+2066",
    "\u200b": "U+200B",
    "\u00ad": "U+00AD",
    "\ufeff": "U+FEFF",
    "\U000e0100": "U+E0100",
    "\U0001d173": "U+1D173",
    "\u2028": "U+2028",
    "\u00a0": "U+00A0",
}
MARKUP = (
    "<img src=x onerror=alert(1)></script><div hx-post=/sign-out/ hx-trigger=load>![](http://evil.example/)"
)
#: Markup that a browser would obey, and a name that breaks a line.
LIVE = re.compile(r"<img src=x|<div hx-post=/sign-out|(desk|8812|po_1|olga|alice|bank|pay|w1)\n")
#: Fields hold the bytes that they edit, and nothing else; a note beside them says what can't be seen in them.
FIELDS = re.compile(r"<textarea.*?</textarea>|<input[^>]*>", re.DOTALL)


WORD = f"{''.join(UNSEEN)}\n{MARKUP}"


@pytest.fixture(scope="module")
def read(django_db_setup: None, django_db_blocker: Any) -> list[tuple[str, str]]:
    """Each page as an operator sees it, and gates as a reviewer does: its address, and its text but for fields."""
    found = []
    with apart(django_db_blocker):
        house = misnamed(full(lambda plain: f"{plain}{WORD}"))
        indexing.catch_up(60)  # pages that sum up name whoever is in the sums
        gates = [path for path in house.pages() if "/gates" in path]
        erasures = [path for path in house.pages() if "/erasures" in path]
        for who, paths in (("olga", house.pages()), ("alice", gates), ("ada", erasures)):
            client = house.signs_in(who)
            for path in paths:
                answer = client.get(path)
                assert answer.status_code in (200, 403, 404), path
                found.append((path, FIELDS.sub("", answer.content.decode())))
    return found


def misnamed(house: House) -> House:
    """The house with such words in every name that the engine has written down itself as well."""
    for person in house.cast.values():
        User.objects.filter(pk=person.pk).update(first_name=f"{person.username}{WORD}"[:150])
    Run.objects.exclude(worker="").update(worker=f"w1{WORD}")
    Effect.objects.filter(pk=house.effects[-1].pk).update(receipt_id=f"po_1{WORD}", vendor=f"bank{WORD}")
    Effect.objects.filter(pk=house.effects[1].pk).update(tool=f"pay{WORD}", failure=f"no{WORD}")
    Run.objects.filter(pk=house.runs[-1].pk).update(step=f"pay{WORD}")
    Run.objects.filter(effects__state="in doubt").update(agent=f"desk{WORD}")
    Stop.objects.create(scope="tool", name=f"pay{WORD}", actor=f"olga{WORD}", reason=f"wait{WORD}")
    return house


def test_what_can_not_be_seen_is_shown_as_its_code_point_in_every_field_of_every_page(
    read: list[tuple[str, str]],
) -> None:
    assert [(path, code) for path, page in read for char, code in UNSEEN.items() if char in page] == []
    marked = {kind_of(path) for path, page in read if "U+202E" in page.partition("<main")[2]}
    unnamed = {
        "tools",
        "metrics",
        "counts",
        "time-zone",
        "healthz",
        "readyz",
        "run-suggestions",
        "ledger-suggestions",
    }  # they show nobody's words
    assert {*names()} - {*POSTS, "behind", "sign-in", "sign-out"} - marked == unnamed


def test_no_markup_and_no_line_break_of_a_name_is_live_on_any_page(read: list[tuple[str, str]]) -> None:
    assert [(path, found[0]) for path, page in read if (found := LIVE.search(page))] == []
    assert any("&lt;img src=x onerror=alert(1)&gt;" in page for _, page in read)


@pytest.mark.django_db
def test_a_payee_that_misleads_is_flagged_and_what_is_sent_is_what_was_stored(sign_in: SignIn) -> None:
    note = "https://\u0430pple.com/pay" + "\u00a0" * 500 + "184.50\u202e"
    gate = factories.gate(note=note)
    alice = sign_in(factories.person("alice"))
    whole = alice.get(reverse("gate", args=[gate.pk])).content.decode()
    page = FIELDS.sub("", whole)
    assert "hidden character" in whole  # beside the field that edits it
    assert "502 characters here can't be seen or pass for another" in page
    assert "U+0430" in page and "U+00A0 \N{MULTIPLICATION SIGN}500" in page and "\u00a0" * 9 not in page
    said = {"verdict": "approve", "digest": gate.digest, "round": gate.round}
    assert alice.post(reverse("decisions", args=[gate.pk]), said).status_code == 303
    effect = Effect.objects.select_related("payload").get(pk=gate.effect_id)
    stored = vault.read(effect.payload)
    assert (effect.state, stored["args"]["note"]) == ("approved", note)
    assert sha256(canonical(stored)) == effect.digest == gate.digest


@pytest.mark.django_db
def test_ordinary_writing_of_every_script_stays_readable_on_a_page(sign_in: SignIn) -> None:
    ordinary = "José, תודה רבה, شكرا جزيلا, 田中さん, 👩\u200d👧 👍🏽 🇩🇪"
    gate = factories.gate(note=ordinary)
    page = sign_in(factories.person("alice")).get(reverse("gate", args=[gate.pk])).content.decode()
    assert ordinary in page and 'class="cp"' not in page
