"""What strangers can't tell apart, what auditors do not find, and that no door lets anybody say yes to themselves."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.urls import reverse

from approvals.models import Decision, Gate
from durable import vault
from durable.digest import canonical, sha256
from durable.models import Effect
from tests import factories
from tests.approvals.answering import refusals
from tests.approvals.conftest import SignIn
from tests.approvals.house import full
from tests.approvals.matrix import BARE, DOSSIERS, OBJECTS, OWN, POSTS, RUN_PAGES, address
from tests.approvals.test_alike import token
from tests.approvals.test_forms import command, form_of

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
IBAN = "DE02120300000000202051"
#: The pages of one thing, and the acts on it: each address names a gate, a run, an effect or a bulk act.
THINGS = [*OBJECTS, "differences", "fork", *(name for name in POSTS if name not in BARE)]


def elsewhere(name: str, gate: Gate) -> str:
    """The same address about a thing that is not there."""
    if name in ("differences", "fork"):
        return reverse(name, args=["run-none"])
    of_gate = {"gate", "facts", "payload", "alike", "alike-decisions", "decisions", "answers"}
    if name in of_gate:
        return reverse(name, args=[gate.pk + 999])
    if name in ("effect", "verdicts", "look-ups"):
        return reverse(name, args=["run-none:pay"])
    if name in (
        "bulk-act",
        "bulk-starts",
        "bulk-stops",
        "run-view-deletions",
        "export-stops",
        "export-deletions",
        "export-downloads",
        "statement",
        "statement-explanations",
        "hold-liftings",
        "erasure-withdrawals",
    ):
        return reverse(name, args=[10**9])
    return reverse(name, args=["run-none"])


def unmasked(answer: Any) -> bytes:
    """A page without the token of its forms, which Django masks anew each time."""
    return re.sub(rb'name="csrfmiddlewaretoken" value="[^"]*"', b"", answer.content)


@pytest.mark.parametrize("name", OBJECTS)
def test_what_is_not_yours_and_what_is_not_there_look_the_same(name: str, sign_in: SignIn) -> None:
    gate = factories.gate()
    charlie = sign_in(factories.person("charlie"))
    absent = {"gate": reverse("gate", args=[gate.pk + 999]),
              "payload": reverse("payload", args=[gate.pk + 999]),
              "facts": reverse("facts", args=[gate.pk + 999]),
              "alike": reverse("alike", args=[gate.pk + 999]),
              **{one: reverse(one, args=["run-none"]) for one in (*RUN_PAGES, *DOSSIERS)},
              "effect": reverse("effect", args=["run-none:pay"]),
              "statement": reverse("statement", args=[10**9]),
              "bulk-act": reverse("bulk-act", args=[10**9])}[name]  # fmt: skip
    mine, nobodys = charlie.get(address(name, gate)), charlie.get(absent)
    assert (mine.status_code, unmasked(mine)) == (nobodys.status_code, unmasked(nobodys))


@pytest.mark.parametrize("name", THINGS)
def test_to_a_stranger_what_is_there_and_what_is_not_are_the_same_by_every_way_of_asking(
    name: str, sign_in: SignIn
) -> None:
    gate = factories.gate()
    if name in ("differences", "fork"):
        mine, nobodys = reverse(name, args=[gate.effect.run.ref]), elsewhere(name, gate)
    else:
        mine, nobodys = address(name, gate), elsewhere(name, gate)
    charlie = sign_in(factories.person("charlie"))
    ask = charlie.post if name in POSTS else charlie.get
    for data, headers in (({}, {}), ({"seen": "x", "reason": "y", "verdict": "approve"}, HTMX)):
        answers = [ask(one, data, headers=headers) for one in (mine, nobodys)]
        told = [(answer.status_code, unmasked(answer), sorted(answer.headers.items())) for answer in answers]
        assert told[0] == told[1] and told[0][0] == (404 if name in OWN else 403)


def test_what_a_stranger_may_not_see_is_in_no_count_no_search_and_no_completion(sign_in: SignIn) -> None:
    gate = factories.gate()
    charlie = sign_in(factories.person("charlie"))
    for name in ("home", "gates", "runs", "ledger", "doubts", "run-suggestions", "bulk-acts", "compensation"):
        page = charlie.get(reverse(name), {"q": gate.effect.run.ref})
        assert page.status_code == 403 and gate.effect.run.ref not in page.content.decode(), name
        assert not re.search(r'class="count"[^>]*>\s*\d', page.content.decode())


def test_an_auditor_finds_no_secret_anywhere_and_no_act_but_their_own_views(settings: Any) -> None:
    settings.METRICS_TOKEN, settings.STRIPE_API_KEY = "token-of-the-metrics", "sk_live_of_the_shop"
    house = full(iban=IBAN)
    alice, rita = house.signs_in("alice"), house.signs_in("rita")
    alice.get("/gates/")
    hidden = {
        IBAN, settings.METRICS_TOKEN, settings.STRIPE_API_KEY, settings.SECRET_KEY, alice.session.session_key,
        alice.cookies["csrftoken"].value, *User.objects.values_list("password", flat=True),
        base64.b64encode(settings.INTERLOCK_SEAL_KEY).decode(),
    }  # fmt: skip
    masked, acts = 0, set()
    for path in house.pages():
        page = rita.get(path).content.decode()
        assert [one for one in hidden if str(one) in page] == [], path
        masked += "2051 (masked)" in page
        acts |= set(re.findall(r'<form method="post" action="([^"]*)"', page))
    assert masked >= 4
    exports = {
        one for one in acts if one.startswith((reverse("exports"), reverse("time-zone"), "/dossiers/"))
    }
    assert acts - exports <= {reverse("sign-out"), reverse("run-views")}


def test_a_reviewer_sees_the_same_mask_and_the_vendor_would_get_the_real_value() -> None:
    house = full(iban=IBAN)
    alice = house.signs_in("alice")
    shown = [page for path in house.pages() if IBAN[-4:] in (page := alice.get(path).content.decode())]
    assert shown and all(
        "\u2022\u2022\u2022\u20222051 (masked)" in page and IBAN[2:12] not in page for page in shown
    )
    payload = vault.read(Gate.objects.select_related("payload").get(pk=house.gates[0].pk).payload)
    assert payload["args"]["iban"] == IBAN and sha256(canonical(payload)) == house.gates[0].digest


@pytest.mark.parametrize("together", [False, True])
def test_what_somebody_else_would_post_an_auditor_posts_in_vain_and_it_is_kept(
    together: bool, sign_in: SignIn
) -> None:
    gate = factories.gate(amount="120")
    action, data = form_of(sign_in(factories.person("alice")), gate, "approve")
    if together:
        action = reverse("alike-decisions", args=[gate.pk])
        data = {"gate": token(gate), "verdict": "approve"}
    assert sign_in(factories.person("rita")).post(action, data).status_code == 403
    gate.refresh_from_db()
    assert (gate.state, Decision.objects.count()) == ("open", 0)
    assert [(one["actor"], one["why"]) for one in refusals(gate)] == [("rita", "refused")]


def test_no_door_lets_somebody_say_yes_to_what_they_asked_for_and_the_attempt_is_kept(
    sign_in: SignIn,
) -> None:
    gate = factories.gate("alice", amount="120")
    person, run = factories.person("alice"), gate.effect.run
    person.groups.add(Group.objects.get(name="operator"))
    alice = sign_in(person)
    said = {"verdict": "approve", "digest": gate.digest, "round": gate.round}
    assert alice.post(reverse("decisions", args=[gate.pk]), said).status_code == 403
    assert alice.post(reverse("decisions", args=[gate.pk]), said, headers=HTMX).status_code == 403
    together = {"gate": [token(gate)], "verdict": "approve"}
    assert alice.post(reverse("alike-decisions", args=[gate.pk]), together).status_code == 409
    assert command(alice, run, "holds", reason="to release it").status_code == 303
    run.refresh_from_db()
    assert command(alice, run, "releases", reason="so that it goes on").status_code == 303
    assert command(alice, run, "retries", reason="so that it goes on").status_code == 409
    assert (Effect.objects.get(pk=gate.effect_id).state, Decision.objects.count()) == ("gated", 0)
    assert [(one["actor"], one["why"]) for one in refusals(gate)] == [("alice", "refused")]
    said |= {"verdict": "reject", "reason": "no"}
    assert alice.post(reverse("decisions", args=[gate.pk]), said).status_code == 303
