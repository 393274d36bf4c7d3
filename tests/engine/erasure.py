"""Somebody who is to be erased, all that the desk has done for her, and where to look for what is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

from approvals import erasures
from approvals.states import Verdict
from durable import erasing, runs, vault
from durable.concerned import Called, Found
from durable.models import (
    Effect,
    Erasure,
    Message,
    Run,
    Subject,
)
from durable.states import EraseReason, RunState
from tests.engine import desk, people
from tests.vendors import Vendor

#: Stands in all that the person says and is called; in nothing else.
CANARY = "quixano"
MAIL, ORDER = f"zoe.{CANARY}@example.org", f"{CANARY}-8812"
ZOE = [Called("customer", MAIL), Called("order", ORDER)]
WHO = {"actor": "ada", "reason": EraseReason.ASKED.value, "reference": "T-77"}


@pytest.fixture(autouse=True)
def kept_outside(settings: Any, tmp_path: Path) -> Path:
    settings.INTERLOCK_ERASURE_FILE = str(tmp_path / "erasures.jsonl")
    settings.INTERLOCK_ANCHORS = ["durable.roots.anchors.File"]
    settings.INTERLOCK_ANCHOR_FILE = str(tmp_path / "roots.jsonl")
    settings.ERASE_ALONE_LIMIT = 100  # that it takes two has tests of its own
    settings.INTERLOCK_AGENTS = ("durable.agents.refund_desk",)
    return tmp_path / "erasures.jsonl"


def found(names: list[Called] = ZOE, *, thoroughly: bool = False) -> Found:
    return erasures.look(names, thoroughly=thoroughly).found


def ask(names: list[Called] = ZOE, **more: Any) -> Erasure:
    given = {**WHO, "seen": found(names).seen, "others": "erase", **more}
    return erasures.ask(names, **given)


def erase(names: list[Called] = ZOE, **more: Any) -> Erasure:
    made = ask(names, **more)
    erasing.carry_on(made.pk)
    made.refresh_from_db()
    return made


def told_by_zoe(vendor: Vendor) -> list[Run]:
    """What the desk has done for her: a refund that people let out, a letter that they did not, and a ticket that
    could not be taken. Her name stands in the input, in what the agent says, in payloads, comments and errors.
    """
    desk.order(vendor, amount="140.00", name=ORDER)
    more = {"reply_to": MAIL, "text": f"I am Zoe {CANARY}; give it back."}
    paid = desk.drive(runs.start("RefundDesk", desk.ticket(ORDER, **more), actor="tests", key=f"t-{CANARY}"))
    people.say(paid, words=f"{CANARY} is right")
    desk.drive(paid)
    people.say(paid, Verdict.REJECT, words=f"no letter to {MAIL}")
    desk.drive(paid)
    vendor.seed_order(
        f"{ORDER}-b", "10.00", "EUR", charge=vendor.seed_charge("10.00", "EUR"), status="cancelled"
    )
    lost = desk.drive(desk.start(f"{ORDER}-b", text=f"It is {CANARY} again"))
    lost = desk.drive(lost)
    assert (paid.state, lost.state) == (RunState.COMPLETED, RunState.FAILED)
    assert CANARY in lost.error
    return [paid, lost]


def by_ann(vendor: Vendor) -> Run:
    """Somebody else's refund, of the same amount."""
    desk.order(vendor, amount="40.00", name="8813")
    run = desk.drive(desk.start("8813", text="It is broken."))
    assert run.state == RunState.COMPLETED
    return run


def database() -> str:
    """All that stands in any table, as text; what is binary as its bytes read as text, too."""
    rows = []
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            rows += [text for (text,) in cursor.fetchall()]
    return "\n".join(rows).lower()


def holds_canary(text: str) -> bool:
    return CANARY in text or CANARY.encode().hex() in text


def pages(who: User, runs_: list[Run]) -> dict[str, str]:
    """Every page that shows something of these runs, by its address."""
    client = Client()
    client.force_login(who)
    lists = ("home", "gates", "runs", "ledger", "refunds", "acts", "erasures", "bulk-acts")
    addresses = [reverse(name) for name in lists]
    addresses += [f"{reverse('acts')}?q=about:erasure:{Erasure.objects.latest('pk').pk}"]
    addresses += [reverse("erasure", args=[one.pk]) for one in Erasure.objects.all()]
    for run in runs_:
        names = ("run", "conversation", "log", "checkpoints", "way-back", "dossier-run")
        addresses += [reverse(name, args=[run.ref]) for name in names]
        for effect in Effect.objects.filter(run=run).prefetch_related("gates", "subjects"):
            addresses += [reverse(name, args=[effect.key]) for name in ("effect", "dossier-effect")]
            addresses += [reverse("gate", args=[gate.pk]) for gate in effect.gates.all()]
            addresses += [reverse("dossier-subject", args=[one.hash]) for one in effect.subjects.all()]
    answers = {}
    for address in dict.fromkeys(addresses):
        answer = client.get(address)
        assert answer.status_code == 200, address
        answers[address] = answer.content.decode().lower()
    return answers


def sums() -> Any:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT currency, state, sum(amount_minor), count(*) FROM durable_effect GROUP BY 1, 2 ORDER BY 1, 2"
        )
        return cursor.fetchall()


def content(run: Run) -> Any:
    run.refresh_from_db()
    effects = list(Effect.objects.filter(run=run).order_by("pk"))
    return (
        run.input, run.result, run.message_count, Message.objects.filter(branch=run.branch_id).count(),
        [vault.read(effect.payload) for effect in effects],
        sorted(Subject.objects.filter(run=run).values_list("kind", "hash")),
    )  # fmt: skip


def left() -> list[str]:
    """The rows of any table that still hold something of her."""
    return [line for line in database().splitlines() if holds_canary(line)]
