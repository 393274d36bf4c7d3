"""Bundles of what was erased go to somebody who has Python and nothing of ours: they verify, and name nobody."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from approvals.exports import orders, work
from approvals.models import Export
from durable.models import Effect, LedgerEvent, Subject
from durable.roots import signing
from tests.engine import people, rooted
from tests.engine.erasure import ORDER, erase, holds_canary, kept_outside, told_by_zoe
from tests.engine.test_bundles import changed, check, read
from tests.vendors import Vendor

__all__ = ["kept_outside"]

pytestmark = pytest.mark.django_db(transaction=True)


def test_bundles_of_erased_runs_are_proven_by_their_own_verifier_and_name_nobody(
    vendor: Vendor, settings: Any, tmp_path: Path
) -> None:
    settings.INTERLOCK_EXPORTS = str(tmp_path / "exports")
    paid, lost = told_by_zoe(vendor)
    rooted.root_and_keep(size=5)
    erase()
    rooted.root_and_keep(size=5)
    rita = people.person("rita")
    keys = Effect.objects.filter(run__in=[paid, lost]).values_list("key", flat=True)
    of_effects = LedgerEvent.objects.filter(effect_key__in=list(keys)).count()
    subject = Subject.objects.filter(run=paid, kind="order").values_list("hash", flat=True)[0]
    erased = LedgerEvent.objects.filter(kind="erased")
    assert of_effects == 8 and {event.run_ref for event in erased} == {paid.ref, lost.ref}
    wanted = {
        ("run", paid.ref): LedgerEvent.objects.filter(effect_key__startswith=f"{paid.ref}:").count(),
        ("subject", subject): None,
        ("ledger", f"order:{ORDER}"): None,
        ("log", "kind:erased"): erased.count(),
    }
    for (of, query), number in wanted.items():
        export = orders.order(rita, of, query, "bundle")
        work.carry_on(export.pk)
        export = Export.objects.get(pk=export.pk)
        assert export.state == "made", export.words
        file = tmp_path / "exports" / export.file
        code, told = check(file, "--key", signing.public_key(), "--anchors", str(rooted.kept()))
        events = read(file, "events.jsonl")
        assert (code, told.splitlines()[-1]) == (0, "everything holds"), (of, told)
        assert "0 of them in no root yet" in told and events and number in (None, len(events))
        assert not read(file, "texts.jsonl")
        with zipfile.ZipFile(file) as archive:
            everything = "".join(archive.read(name).decode(errors="replace") for name in archive.namelist())
        assert not holds_canary(everything.lower())
        forged = changed(file, "events.jsonl", lambda lines: lines[0].update(actor="mallory"))
        assert check(forged)[0] == 1
