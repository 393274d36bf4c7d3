"""Erasures that are cut off, contradicted, undone by a restore, or not of what was shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from approvals.erasure_forms import called
from durable import erasing, faults, runs, steering, vault
from durable.concerned import Called
from durable.errors import Invalid, Moved
from durable.ledger import outcome
from durable.models import (
    Effect,
    Erasure,
    ErasureRun,
    LedgerEvent,
    Run,
    SealKey,
)
from durable.vendor import Receipt
from tests.engine import desk
from tests.engine.erasure import (
    CANARY,
    MAIL,
    ORDER,
    ZOE,
    ask,
    erase,
    found,
    kept_outside,
    left,
    told_by_zoe,
)
from tests.engine.rooted import said
from tests.engine.scenes import WHY, Killed, die
from tests.vendors import Vendor

__all__ = ["kept_outside"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_whoever_dies_while_erasing_has_erased_a_run_whole_or_not_at_all(vendor: Vendor, moment: str) -> None:
    hers = told_by_zoe(vendor)
    made = ask()
    faults.arm(f"erase.{moment}_commit", die)
    with pytest.raises(Killed):
        erasing.carry_on(made.pk)
    first = Run.objects.get(pk=hers[0].pk)
    gone = moment == "after"
    assert (first.input == {}) is gone
    assert LedgerEvent.objects.filter(run_ref=first.ref, kind="erased").count() == int(gone)
    erasing.carry_on(made.pk)
    made.refresh_from_db()
    assert made.done_at is not None
    assert LedgerEvent.objects.filter(kind="erased").count() == 2
    assert left() == []


def test_nothing_is_erased_but_what_was_shown(vendor: Vendor) -> None:
    told_by_zoe(vendor)
    seen = found().seen
    desk.drive(desk.start(ORDER, text="once more"))
    with pytest.raises(Moved):
        ask(seen=seen)
    assert not Erasure.objects.exists()


@pytest.mark.parametrize(
    "wrong", [{"reason": "Zoe wants it"}, {"reference": f"of {CANARY}-8812"}, {"reference": "a\nb"}]
)
def test_what_is_kept_of_an_erasure_can_not_name_anybody(vendor: Vendor, wrong: dict[str, Any]) -> None:
    told_by_zoe(vendor)
    with pytest.raises(Invalid):
        ask(**wrong)
    assert not Erasure.objects.exists()


def test_runs_that_name_others_too_are_erased_or_left_as_somebody_says(vendor: Vendor) -> None:
    hers = told_by_zoe(vendor)
    by_mail = [Called("customer", MAIL)]
    (other,) = found(by_mail).others
    assert other.kind == "customer" and other.runs == 1  # the vendor's own name of her
    with pytest.raises(Invalid, match="others"):
        ask(by_mail, others="")
    erase(by_mail, others="leave")
    assert ErasureRun.objects.get(run=hers[0]).state == "left"
    assert vault.open_key(hers[0].pk, hers[0].ref)
    erase(by_mail, others="erase")
    with pytest.raises(vault.Erased):
        vault.open_key(hers[0].pk, hers[0].ref)


def test_a_fork_goes_with_its_parent_or_both_wait(vendor: Vendor) -> None:
    hers = told_by_zoe(vendor)[0]
    fork = steering.fork(hers.ref, 1, **WHY)
    assert erase().done_at is None
    hers.refresh_from_db()
    assert hers.input["order"] == ORDER
    runs.cancel(fork.ref, **WHY)
    desk.drive(fork)
    Erasure.objects.update(due_at=None)
    erasing.carry_on(Erasure.objects.get().pk)
    assert {run.input == {} for run in Run.objects.filter(pk__in=[hers.pk, fork.pk])} == {True}


def test_the_same_start_key_finds_the_same_run_after_its_erasure(vendor: Vendor) -> None:
    hers = told_by_zoe(vendor)[0]
    ticket = desk.ticket(ORDER, reply_to=MAIL, text=f"I am Zoe {CANARY}; give it back.")
    erase()
    again = runs.start("RefundDesk", ticket, actor="tests", key=f"t-{CANARY}")
    assert again.pk == hers.pk and len(vendor.book()) == 1


def test_a_late_answer_is_still_taken_down_after_an_erasure(vendor: Vendor) -> None:
    hers = told_by_zoe(vendor)[0]
    effect = Effect.objects.filter(run=hers, state="applied").get()
    erase()
    outcome.late(hers.ref, effect.key, "w1:1", Receipt("re_second", key=effect.key), "")
    outcome.late(hers.ref, effect.key, "w1:1", None, f"cut off: {MAIL}")
    kinds = LedgerEvent.objects.filter(run_ref=hers.ref).order_by("no").values_list("kind", flat=True)
    assert list(kinds)[-3:] == ["late answer", "attention", "late answer"]
    assert left() == []


def test_after_a_restore_the_list_erases_all_of_it_once_more(vendor: Vendor, kept_outside: Path) -> None:
    hers = told_by_zoe(vendor)
    erase()
    code, listed = said("erase", "--list")
    assert code == 0 and {ref for line in listed.splitlines() for ref in json.loads(line)["runs"]} == {
        run.ref for run in hers
    }
    # As a backup of before has it: the key is back, the data too, and no record of the erasure.
    ErasureRun.objects.all().delete()
    Erasure.objects.all().delete()
    SealKey.objects.filter(run__in=hers).delete()
    for run in hers:
        vault.create_key(run)
    Run.objects.filter(pk__in=[run.pk for run in hers]).update(input={"text": CANARY})

    assert said("erase", "--again", str(kept_outside))[0] == 0
    assert left() == []
    assert said("erase", "--again", str(kept_outside))[1].strip() == "All of it is erased."
    kept_outside.write_text("nonsense")
    assert said("erase", "--again", str(kept_outside))[0] == 2
    gone = str(kept_outside.with_name("nope"))
    code, why = said("erase", "--again", gone)
    assert code == 2 and why.startswith(f"--again: {gone} can't be read (") and "--list" in why


def test_the_command_shows_first_and_erases_only_what_it_has_shown(vendor: Vendor) -> None:
    told_by_zoe(vendor)
    names = [f"customer:{MAIL}", f"order:{ORDER}"]
    code, shown = said("erase", *names)
    assert code == 0 and "2 runs would be erased at once" in shown and not Erasure.objects.exists()
    seen = shown.split("--seen ")[1].split()[0]
    rest = ["--reason", "asked", "--others", "erase", "--actor", "ada"]
    code, anew = said("erase", *names, "--seen", "0" * 24, *rest)
    assert code == 2 and anew.startswith("--seen is out of date") and anew.endswith(shown)
    assert not Erasure.objects.exists()
    code, done = said("erase", *names, "--seen", seen, *rest)
    assert (code, done.strip()) == (0, f"Erasure {Erasure.objects.get().pk}: 2 runs erased, 0 wait.")


def test_a_name_without_its_kind_is_found_under_whatever_kind_it_is_filed(vendor: Vendor) -> None:
    told_by_zoe(vendor)
    assert called([MAIL, f"order:{ORDER}"]) == ZOE
