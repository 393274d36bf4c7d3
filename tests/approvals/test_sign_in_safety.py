"""Guessing is slow and locks nobody out, a sign-in ends by itself, and no header makes anybody somebody else."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db.models import F
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse

from approvals import address, idle, tasks, throttle
from approvals.models import SignInTry
from durable.models.fields import Clock
from tests import factories
from tests.approvals.conftest import SignIn
from tests.logged import told

pytestmark = pytest.mark.django_db
HERE = "192.0.2.44"


def enter(client: Client, name: str = "alice", password: str = factories.PASSWORD, at: str = HERE) -> Any:
    data = {"username": name, "password": password}
    return client.post(reverse("sign-in"), data, REMOTE_ADDR=at)


def guessed(times: int, name: str = "alice") -> None:
    """Tries with a wrong password, each from another address."""
    for n in range(times):
        enter(Client(), name, "wrong", at=f"198.51.100.{n}")


def test_after_so_many_wrong_passwords_for_a_name_none_is_looked_at_for_a_while() -> None:
    factories.person("alice")
    guessed(throttle.NAME)
    refused = enter(Client())
    assert refused.status_code == 429 and 0 < int(refused["Retry-After"]) <= 900
    assert "the password was not looked at" in refused.content.decode()
    assert told("sign-in refused")[-1].body["why"] == "too many tries"
    assert enter(Client(), "nobody").status_code == 200  # another name is not concerned
    SignInTry.objects.update(until=Clock() - timedelta(seconds=1))
    assert enter(Client()).status_code == 302


def test_whoever_has_signed_in_here_before_is_not_locked_out_by_others() -> None:
    factories.person("alice")
    browser = Client()
    assert enter(browser).status_code == 302
    browser.post(reverse("sign-out"))
    guessed(throttle.NAME + 1)
    assert enter(Client(), at="203.0.113.9").status_code == 429
    assert enter(browser).status_code == 302


def test_a_stolen_cookie_of_another_name_and_a_forged_one_are_no_help() -> None:
    factories.person("alice"), factories.person("bob")
    bobs = Client()
    enter(bobs, "bob")
    bobs.post(reverse("sign-out"))
    guessed(throttle.NAME)
    assert enter(bobs).status_code == 429
    bobs.cookies["known"] = "alice:made:up"
    assert enter(bobs).status_code == 429


def test_one_address_tries_many_names_only_so_often() -> None:
    factories.person("alice")
    for n in range(throttle.ADDRESS):
        enter(Client(), f"name{n}", "wrong")
    assert enter(Client()).status_code == 429
    assert enter(Client(), at="203.0.113.9").status_code == 302


def test_a_right_password_begins_the_count_anew_and_costs_the_address_nothing() -> None:
    factories.person("alice")
    for _ in range(3):
        guessed(throttle.NAME - 1)
        assert enter(Client()).status_code == 302
    (own,) = SignInTry.objects.filter(key__startswith="address:").order_by("tries")[:1]
    assert own.tries == 0


#: Letters of alice as wide as those of East Asia, which signing in takes for the narrow ones.
WIDE = ("\uff41lice", "ali\uff43e", "\uff41lice ")


@pytest.mark.parametrize("typed", [" alice", "alice\t", "\u3000alice", "ALICE", *WIDE])
def test_however_a_name_is_typed_its_tries_are_counted_together(typed: str) -> None:
    """Signing in takes all of these for alice (but for capitals), so that each would be another ten tries."""
    alice = factories.person("alice")
    guessed(throttle.NAME - 1)
    enter(Client(), typed, "wrong", at="203.0.113.9")
    assert enter(Client(), at="203.0.113.10").status_code == 429
    assert enter(Client(), typed, at="203.0.113.11").status_code == 429
    if typed != "ALICE":
        assert told("sign-in refused")[-1].about == f"person:{alice.pk}"


def test_nobody_is_locked_out_by_what_others_try_from_the_same_address() -> None:
    factories.person("alice")
    browser = Client()
    assert enter(browser).status_code == 302
    browser.post(reverse("sign-out"))
    for n in range(throttle.ADDRESS):
        enter(Client(), f"name{n}", "wrong")
    assert enter(Client()).status_code == 429
    assert enter(browser).status_code == 302


def test_the_addresses_of_one_network_that_somebody_has_whole_are_one() -> None:
    factories.person("alice")
    for n in range(throttle.ADDRESS):
        enter(Client(), f"name{n}", "wrong", at=f"2001:db8:1:2::{n:x}")
    assert enter(Client(), at="2001:db8:1:2:ffff::1").status_code == 429
    assert enter(Client(), at="2001:db8:1:3::1").status_code == 302


def test_what_is_kept_of_tries_names_nobody_and_is_deleted_when_it_is_over() -> None:
    guessed(2, "alice")
    assert "alice" not in repr(list(SignInTry.objects.values_list("key")))
    SignInTry.objects.update(until=Clock() - timedelta(seconds=1))
    throttle.forget_old()
    assert not SignInTry.objects.exists()


def test_what_remembers_a_browser_is_out_of_reach_of_scripts_and_of_other_sites() -> None:
    factories.person("alice")
    cookie = enter(Client()).cookies["known"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/")
    assert "alice" not in cookie.OutputString().replace(cookie.value, "")


def test_a_right_password_takes_nothing_from_the_count_of_another_address() -> None:
    factories.person("alice")
    for _ in range(2):
        enter(Client(), "mallory", "wrong", at="203.0.113.9")
    before = set(SignInTry.objects.values_list("key", "tries"))
    assert enter(Client()).status_code == 302
    assert before and before <= set(SignInTry.objects.values_list("key", "tries"))


@pytest.mark.parametrize(
    ("hops", "header", "expected"),
    [
        (0, "203.0.113.9", HERE),
        (1, "203.0.113.9", "203.0.113.9"),
        (1, "10.0.0.1, 203.0.113.9", "203.0.113.9"),  # what stands before is the client's own word
        (2, "10.0.0.1, 203.0.113.9, 10.9.9.9", "203.0.113.9"),
        (2, "203.0.113.9", HERE),
        (1, "somewhere", HERE),
        (1, "", HERE),
    ],
)
def test_of_forwarded_addresses_those_alone_count_that_our_own_proxies_have_added(
    hops: int, header: str, expected: str, settings: Any
) -> None:
    settings.PROXY_HOPS = hops
    request = HttpRequest()
    request.META = {"REMOTE_ADDR": HERE, "HTTP_X_FORWARDED_FOR": header}
    assert address.of(request) == expected


def aged(client: Client, **seconds: int) -> None:
    """Let a sign-in be made, or used, so long ago."""
    session = client.session
    for name, ago in seconds.items():
        session[name] -= ago
    session.save()


def test_a_sign_in_that_nobody_uses_ends_and_what_a_page_asks_by_itself_is_no_use(sign_in: SignIn) -> None:
    alice = sign_in(factories.person("alice"))
    poll: dict[str, Any] = {"data": {"seen": "x"}, "headers": {"HX-Request": "true"}}
    aged(alice, used=3_000)
    assert alice.get(reverse("gates"), **poll).status_code == 200
    assert alice.session[idle.USED] - alice.session[idle.SINCE] < -2_900
    assert alice.get(reverse("gates")).status_code == 200
    assert alice.session[idle.USED] >= alice.session[idle.SINCE]
    aged(alice, used=3_700)
    assert alice.get(reverse("gates"), **poll).status_code == 302
    assert not Session.objects.exists()
    assert told("signed out")[-1].body == {"why": "not used for a while"}


def test_a_sign_in_ends_after_its_hours_however_much_it_is_used(sign_in: SignIn) -> None:
    alice = sign_in(factories.person("alice"))
    aged(alice, since=12 * 3600 - 60)
    assert alice.get(reverse("gates")).status_code == 200
    aged(alice, since=120)
    assert alice.get(reverse("gates")).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_sign_ins_that_are_over_are_deleted_by_the_clock(sign_in: SignIn) -> None:
    sign_in(factories.person("alice")), sign_in(factories.person("bob"))
    Session.objects.filter(pk__in=Session.objects.values("pk")[:1]).update(
        expire_date=F("expire_date") - timedelta(days=1)
    )
    tasks.tidy()
    assert Session.objects.count() == 1


def test_over_https_the_cookies_are_bound_to_the_host() -> None:
    names = "SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, s.KNOWN_COOKIE_NAME"
    code = f"from django.conf import settings as s; print(s.{names})"
    env = os.environ | {
        "INTERLOCK_PUBLIC_URL": "https://console.example",
        "DJANGO_SETTINGS_MODULE": "durable.settings",
    }
    ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["__Host-sessionid", "__Host-csrftoken", "__Host-known"]
