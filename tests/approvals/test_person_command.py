"""`manage.py person`: the first admin, roles given and taken, people switched off; each in the log of acts."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.urls import reverse

from approvals import access
from tests import factories
from tests.approvals.conftest import SignIn
from tests.logged import told

pytestmark = pytest.mark.django_db


def person(*args: str, reason: str = "joins the desk", status: int = 0, **more: Any) -> str:
    """Call the command; returns what it printed, after checking how it ended."""
    out, err = StringIO(), StringIO()
    ended = 0
    try:
        call_command("person", *args, reason=reason, actor="ada", stdout=out, stderr=err, **more)
    except SystemExit as exit:
        ended = int(exit.code or 0)
    assert ended == status, err.getvalue()
    return out.getvalue() + err.getvalue()


def test_the_first_admin_is_made_with_a_role_and_no_password_and_stands_in_the_log() -> None:
    said = person("nadia", "--new", "--role", "admin", "--role", "auditor", "--full-name", "Nadia Amari")
    assert "nadia (Nadia Amari): auditor, admin; never signed in" in said and "changepassword nadia" in said
    nadia = User.objects.get()
    assert (access.role(nadia), nadia.has_usable_password()) == ("Auditor, Admin", False)
    added, *rest = told(about=f"person:{nadia.pk}")
    assert (added.kind, added.actor, added.said) == ("person added", "ada", "joins the desk")
    assert [one.change[1].get("roles") for one in rest if one.kind == "roles changed"][-1] == [
        "admin",
        "auditor",
    ]


def test_roles_are_given_and_taken_and_the_list_shows_them(sign_in: SignIn) -> None:
    factories.person("alice")
    person("alice", "--role", "operator", "--take", "reviewer")
    assert "alice (Alice): operator; " in person()
    assert sign_in(User.objects.get()).get(reverse("system")).status_code == 200


def test_who_is_switched_off_is_out_at_once_and_may_come_back(sign_in: SignIn) -> None:
    client = sign_in(factories.person("alice"))
    assert "switched off" in person("alice", "--off", reason="left")
    assert client.get(reverse("gates")).status_code == 302
    assert "switched off" not in person("alice", "--on", reason="came back")


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("nobody", "--role", "admin"), "nobody is called nobody"),
        (("alice", "--role", "boss"), "role: must be one of reviewer, operator, auditor, admin"),
        (("alice", "--new"), "alice is there already; leave --new out to change them"),
        (("Alice", "--new"), "called alice already, which is the same but for capital letters"),
        (("a b", "--new"), "name: must be letters"),
        (("ada", "--take", "admin"), "ada is the last admin"),
        (("ada", "--off"), "ada is the last admin"),
        (("alice", "--role", "admin", "--take", "admin"), "both given and taken"),
    ],
)
def test_what_is_refused_says_why_and_changes_nothing(args: tuple[str, ...], why: str) -> None:
    factories.person("alice"), factories.person("ada")
    before = (person(), len(told()))
    assert why in person(*args, status=2)
    assert (person(), len(told())) == before


def test_without_a_reason_nothing_is_changed() -> None:
    factories.person("alice")
    assert "reason: say why" in person("alice", "--role", "admin", reason=" ", status=2)
