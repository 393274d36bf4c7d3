"""What is wrong is told in words of the page: no sentence begins with a name that only the code has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django import forms
from django.test import Client
from django.urls import reverse

from approvals import erasure_forms, hold_forms, problems, retention_forms, run_forms
from approvals import forms as own_forms
from durable import holds
from durable.errors import Conflict, Invalid
from durable.states import EraseReason
from tests import factories
from tests.approvals.conftest import SignIn

ROOT = Path(__file__).resolve().parents[2]
#: What code gives and no page asks for: programs and their authors know it by this name.
OF_CODE = {
    "budget.deadline", "budget.money", "dedupe", "durability", "key", "minor", "role", "secret", "since", "tool",
    "vendor",
}  # fmt: skip


def declared() -> list[type[forms.Form]]:
    """Every form of the console."""
    modules = (own_forms, run_forms, hold_forms, erasure_forms, retention_forms)
    found = {
        one
        for module in modules
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, forms.Form) and one is not forms.Form
    }
    return sorted(found, key=lambda one: one.__name__)


@pytest.mark.parametrize("kind", declared())
def test_no_field_of_a_form_is_told_by_its_name_in_the_code(kind: type[forms.Form]) -> None:
    for name, field in kind.base_fields.items():
        named = field.label or name in problems.LABELS or name in problems.UNNAMED
        assert named, f"{kind.__name__}.{name} has no name that a person sees"
        form = forms.Form({})
        form.fields[name] = field
        form.full_clean()
        form.errors.clear()
        form.add_error(name, "say something else.")
        told = problems.of_form(form)
        assert not told.startswith(f"{name}:") and told.endswith("say something else")


def refused_fields() -> Iterator[tuple[str, str]]:
    """The fields that `Invalid` names in the console and the engine, each with the place."""
    for path in sorted([*ROOT.glob("approvals/**/*.py"), *ROOT.glob("durable/**/*.py")]):
        if "commands" in path.parts or "migrations" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Invalid"):
                continue
            if isinstance(node.args[0], ast.Constant) and node.args[0].value:
                yield str(node.args[0].value), f"{path.relative_to(ROOT)}:{node.lineno}"


def test_every_field_that_a_command_refuses_has_a_name_on_its_page_or_none_is_asked_for() -> None:
    known = problems.LABELS.keys() | problems.UNNAMED | OF_CODE
    assert [place for name, place in refused_fields() if name not in known] == []


@pytest.mark.parametrize(
    ("refusal", "sentence"),
    [
        (Invalid("run", "choose at least one run"), "choose at least one run"),
        (Invalid("reason", "say why."), "Reason: say why"),
        (Invalid("input.order", "must be given"), "Input: order: must be given"),
        (Invalid("args.amount", "must be above 0"), "amount: must be above 0"),
        (Invalid("receipt_id", "must be given"), "Receipt: must be given"),
        (Conflict("it is over."), "it is over"),
    ],
)
def test_a_refusal_is_told_by_label_and_rule(refusal: Exception, sentence: str) -> None:
    assert problems.told(refusal) == sentence


def test_a_page_may_call_a_field_otherwise() -> None:
    assert (
        problems.told(Invalid("to", "must be later"), to="Up to and with") == "Up to and with: must be later"
    )


def post(client: Client, name: str, *args: Any, **data: Any) -> str:
    answer = client.post(reverse(name, args=args), data)
    assert answer.status_code == 422
    problem: str = answer.context["problem"]
    return problem


@pytest.mark.django_db
def test_who_forgets_something_is_told_what_and_where(sign_in: SignIn) -> None:
    gate = factories.gate()
    olga, ada, rita, alice = (sign_in(factories.person(name)) for name in ("olga", "ada", "rita", "alice"))
    assert post(olga, "bulk-drafts", act="retries") == "Nothing was done: choose at least one run."
    assert post(olga, "holds", gate.effect.run.ref, reason="x") == (
        "Nothing was done: what you were shown is missing; reload the page and try again."
    )
    assert post(alice, "alike-decisions", gate.pk, verdict="approve") == (
        "Nothing was recorded: tick the gates that you mean."
    )
    erased = {
        "names": "order:8812",
        "reason": EraseReason.ASKED.value,
        "confirmed": "order:1",
        "seen": "0" * 24,
    }
    assert post(ada, "erasure-requests", **erased) == (
        "Nothing was erased: what you typed once more is not the first name; nobody can take this back."
    )
    span = {"account": "vendor=x", "first": "2026-01-01"}
    assert (
        post(rita, "statement-requests", **span) == "Nothing was asked: Up to and with: say up to which day."
    )
    assert post(rita, "hold-orders", scope="search", about=" ", reason="x") == (
        "Nothing was done: What: This field is required."
    )


@pytest.mark.django_db
@pytest.mark.parametrize("newer", [0, 60])
def test_a_refused_lifting_of_a_legal_hold_keeps_the_reason_as_it_was_typed(
    newer: int, sign_in: SignIn
) -> None:
    runs = [factories.gate().effect.run for _ in range(newer + 1)]
    hold, *_ = [holds.set_on_run(run.ref, actor="rita", reason="a claim") for run in runs]
    reason = "the claim is settled, " * 100
    answer = sign_in(factories.person("rita")).post(
        reverse("hold-liftings", args=[hold.pk]), {"reason": reason}
    )
    page = answer.content.decode()
    assert answer.status_code == 422 and "Nothing was done: Reason: " in answer.context["problem"]
    assert f"required>{reason}</textarea>" in page and 'class="behind" open' in page
    hold.refresh_from_db()
    assert hold.lifted_at is None
