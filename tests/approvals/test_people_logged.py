"""Whatever changes people, roles and rights stands in the log: one act for each of them, by whom, before and after.

The database does it by itself, so each way in is tried that passes by signals of a model: bulk updates, lists of an
admin's site, a shell, statements by hand, the owner of the tables.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.db.models import QuerySet
from django.http import HttpRequest
from django.test import Client, override_settings
from django.urls import include, path

from durable import acts
from local.pytest_plugin import SHARED
from tests import factories
from tests.logged import told

pytestmark = pytest.mark.django_db
TABLES = ("auth_user", "auth_group", "auth_permission", "auth_user_groups", "auth_user_user_permissions",
          "auth_group_permissions")  # fmt: skip


def role(name: str) -> Group:
    return Group.objects.get(name=name)


def quiet(name: str) -> User:
    """Somebody whose making is in the log already."""
    return factories.person(name)


def since(count: int) -> list[Any]:
    return told()[count:]


def run_sql(text: str, values: Any = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text, values)


def test_somebody_new_is_logged_with_their_roles() -> None:
    alice = quiet("alice")
    added, given = told(about=f"person:{alice.pk}")
    assert (added.kind, added.change) == (
        "person added",
        ({}, {"username": "alice", "is_active": True, "is_staff": False, "is_superuser": False}),
    )
    assert (given.kind, given.change) == ("roles changed", ({"roles": []}, {"roles": ["reviewer"]}))


CHANGES: dict[str, tuple[Callable[[User], Any], dict[str, Any], dict[str, Any]]] = {
    "save": (lambda one: switch_off(one), {"is_active": True}, {"is_active": False}),
    "bulk update": (
        lambda one: User.objects.filter(pk=one.pk).update(is_superuser=True, is_staff=True),
        {"is_staff": False, "is_superuser": False},
        {"is_staff": True, "is_superuser": True},
    ),
    "statement": (
        lambda one: run_sql("UPDATE auth_user SET username = 'eve' WHERE id = %s", [one.pk]),
        {"username": "alice"},
        {"username": "eve"},
    ),
}


def switch_off(one: User) -> None:
    one.is_active = False
    one.save()


@pytest.mark.parametrize("way", CHANGES)
def test_what_decides_about_a_persons_rights_is_logged_before_and_after(way: str) -> None:
    alice = quiet("alice")
    before = len(told())
    do, was, now = CHANGES[way]
    with acts.acting("ada", "she has left"):
        do(alice)
    (act,) = since(before)
    assert (act.kind, act.actor, act.about) == ("person changed", "ada", f"person:{alice.pk}")
    assert (act.change, act.body["name"], act.said) == ((was, now), "alice", "she has left")


def test_one_statement_about_many_logs_each_of_them() -> None:
    people = [quiet(name) for name in ("alice", "bob", "olga")]
    before = len(told())
    User.objects.filter(pk__in=[one.pk for one in people]).update(is_active=False)
    found = since(before)
    assert {act.about for act in found} == {f"person:{one.pk}" for one in people}
    assert len(found) == 3


def test_what_changes_nothing_that_counts_is_not_logged() -> None:
    alice = quiet("alice")
    before = len(told())
    User.objects.filter(pk=alice.pk).update(last_login="2026-01-01T00:00:00Z", is_active=True)
    alice.groups.add(role("reviewer"))
    assert since(before) == []


ROLES: dict[str, tuple[Callable[[User], Any], list[tuple[list[str], list[str]]]]] = {
    "another role": (lambda one: one.groups.set([role("operator")]), [(["reviewer"], []), ([], ["operator"])]),
    "two more": (
        lambda one: one.groups.add(role("operator"), role("auditor")),
        [(["reviewer"], ["auditor", "operator", "reviewer"])],
    ),
    "none": (lambda one: one.groups.clear(), [(["reviewer"], [])]),
    "statement that takes": (lambda one: run_sql("DELETE FROM auth_user_groups"), [(["reviewer"], [])]),
    "statement that moves": (
        lambda one: run_sql("UPDATE auth_user_groups SET group_id = %s", [role("admin").pk]),
        [(["reviewer"], ["admin"])],
    ),
    "statement that gives": (
        lambda one: run_sql("INSERT INTO auth_user_groups (user_id, group_id) VALUES (%s, %s)",
                            [one.pk, role("admin").pk]),
        [(["reviewer"], ["admin", "reviewer"])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", ROLES)
def test_a_change_of_roles_is_one_act_with_all_that_the_person_had_and_has(way: str) -> None:
    alice = quiet("alice")
    before = len(told())
    do, expected = ROLES[way]
    do(alice)
    found = since(before)
    assert [(act.kind, act.about) for act in found] == [("roles changed", f"person:{alice.pk}")] * len(
        expected
    )
    assert [(act.change[0]["roles"], act.change[1]["roles"]) for act in found] == expected


def test_a_role_that_is_given_to_three_at_once_is_three_acts() -> None:
    people = [quiet(name) for name in ("alice", "bob", "olga")]
    before = len(told())
    role("auditor").user_set.add(*people)
    assert {act.about for act in since(before)} == {f"person:{one.pk}" for one in people}


def test_what_a_role_may_is_logged_as_the_roles_and_what_a_person_may_as_the_persons() -> None:
    alice, right = quiet("alice"), Permission.objects.get(codename="steer_runs")
    before = len(told())
    role("auditor").permissions.add(right)
    alice.user_permissions.add(right)
    of_role, of_person = since(before)
    assert (of_role.kind, of_role.about) == ("rights changed", f"role:{role('auditor').pk}")
    was, now = of_role.change
    assert set(now["rights"]) - set(was["rights"]) == {"approvals.steer_runs"}
    assert of_person.about == f"person:{alice.pk}"
    assert of_person.change == ({"rights": []}, {"rights": ["approvals.steer_runs"]})


def test_a_role_is_logged_from_its_beginning_to_its_end() -> None:
    alice = quiet("alice")
    before = len(told())
    made = Group.objects.create(name="night desk")
    alice.groups.add(made)
    Group.objects.filter(pk=made.pk).update(name="late desk")
    made.delete()
    kinds = [(act.kind, act.about.partition(":")[0]) for act in since(before)]
    assert kinds == [("role added", "role"), ("roles changed", "person"), ("role changed", "role"),
                     ("roles changed", "person"), ("role removed", "role")]  # fmt: skip


def test_a_right_that_is_made_another_one_is_logged() -> None:
    before = len(told())
    Permission.objects.filter(codename="see_tools").update(codename="decide_gates_too")
    (act,) = since(before)
    assert (act.kind, act.change[0]["codename"], act.change[1]["codename"]) == (
        "right changed", "see_tools", "decide_gates_too")  # fmt: skip


def test_somebody_removed_keeps_their_log() -> None:
    alice = quiet("alice")
    number = alice.pk
    alice.delete()
    last = told(about=f"person:{number}")[-1]
    assert (last.kind, last.body["name"], last.change[1]) == ("person removed", "alice", {})


def test_without_a_name_the_role_of_the_database_stands_there_and_with_one_beside_it() -> None:
    quiet("alice")
    owns = connection.settings_dict["USER"]
    assert {act.actor for act in told()} == {f"database role {owns}"}
    with acts.acting("ada"):
        User.objects.update(is_staff=True)
    last = told()[-1]
    assert (last.actor, last.body["role"]) == ("ada", owns)


@pytest.mark.django_db(transaction=True)
def test_the_owner_of_the_tables_and_a_superuser_leave_their_trace_too() -> None:
    alice = quiet("alice")
    admin_url = str(json.loads(os.environ[SHARED])["admin"]).format(connection.settings_dict["NAME"])
    for who, url in (("owner", os.environ["DATABASE_OWNER_URL"]), ("superuser", admin_url)):
        before = len(told())
        with psycopg.connect(url) as opened:
            if who == "superuser":
                opened.execute("SET session_replication_role = replica")
            opened.execute("UPDATE auth_user SET is_superuser = NOT is_superuser WHERE id = %s", [alice.pk])
            (name,) = opened.execute("SELECT session_user").fetchone() or ("",)
        assert [act.actor for act in since(before)] == [f"database role {name}"]


@pytest.mark.parametrize("table", TABLES)
def test_nobody_empties_the_tables_past_the_log(table: str) -> None:
    with (
        psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as opened,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        opened.execute(f"TRUNCATE {table} CASCADE")


class Site(admin.AdminSite):
    """An admin's site as an installation may put one beside the console."""


class People(admin.ModelAdmin):  # type: ignore[type-arg]  # Django's own takes none
    actions = ["switch_off"]

    @admin.action(description="Switch off")
    def switch_off(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        queryset.update(is_active=False)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True

    has_view_permission = has_delete_permission = has_module_permission = has_change_permission

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[User]) -> Any:
        """Django's own log has no table here."""


site = Site()
site.register(User, People)
urlpatterns = [path("admin/", site.urls), path("", include("durable.urls"))]


@pytest.mark.parametrize("action", ["switch_off", "delete_selected"])
def test_an_action_on_a_list_of_an_admins_site_logs_each_person_by_who_did_it(action: str) -> None:
    ada = factories.person("ada")
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    chosen = [User.objects.create_user(name) for name in ("uma", "vic", "wim")]
    client = Client()
    client.force_login(ada)
    before = len(told())
    apps = [*settings.INSTALLED_APPS, "django.contrib.admin"]
    with override_settings(ROOT_URLCONF=__name__, INSTALLED_APPS=apps, SECRET_KEY_FALLBACKS=[]):
        data = {"action": action, "_selected_action": [str(one.pk) for one in chosen], "post": "yes"}
        assert client.post("/admin/auth/user/", data).status_code == 302
    kind = {"switch_off": "person changed", "delete_selected": "person removed"}[action]
    found = since(before)
    assert [(act.kind, act.actor) for act in found] == [(kind, "ada")] * 3
    assert {act.about for act in found} == {f"person:{one.pk}" for one in chosen}
    assert {act.change[0]["is_active"] for act in found} == {True}
