"""How exports end: at their time, by their maker, with the right to have them, on a full disk, with their worker."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.urls import reverse

from approvals.exports import orders, work
from approvals.models import Export
from durable import draining
from durable.models.fields import Clock
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_exports import acts, folder, made, nobody_told

__all__ = ["folder", "nobody_told"]

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_file_goes_when_its_time_is_over_and_when_its_maker_loses_the_right(
    folder: Path, sign_in: SignIn
) -> None:
    rita, ada = factories.person("rita"), factories.person("ada")
    factories.gate()
    late, lost, kept = made(rita), made(ada), made(rita, query="state:gated")
    Export.objects.filter(pk=late.pk).update(expires_at=Clock())
    client = sign_in(rita)
    assert client.post(reverse("export-downloads", args=[late.pk])).status_code == 409
    ada.groups.clear()
    assert sign_in(ada).post(reverse("export-downloads", args=[lost.pk])).status_code == 404
    (folder / f"{kept.pk}-7.part").write_bytes(b"what a killed worker has left")
    (folder / "notes.txt").write_text("not ours")
    orders.sweep()
    assert sorted(one.name for one in folder.iterdir()) == sorted([kept.file, "notes.txt"])
    assert acts(late)[-1] == acts(lost)[-1] == ("export expired", "interlock")
    row = Export.objects.get(pk=late.pk)
    assert (row.state, row.query, row.manifest, row.file) == ("expired", "", {}, "")


def test_stopped_and_deleted_ones_leave_no_file_and_say_so_in_the_log(folder: Path, sign_in: SignIn) -> None:
    rita = factories.person("rita")
    factories.gate()
    client, asked = sign_in(rita), orders.order(rita, "ledger", "", "csv")
    assert orders.order(rita, "ledger", "", "csv").pk == asked.pk  # a second click is no second file
    assert client.post(reverse("export-stops", args=[asked.pk])).status_code == 303
    work.carry_on(asked.pk)
    done = made(rita)
    assert client.post(reverse("export-stops", args=[done.pk])).status_code == 409
    assert client.post(reverse("export-deletions", args=[done.pk])).status_code == 303
    assert list(folder.iterdir()) == []
    assert acts(asked) == [("export asked", "rita"), ("export stopped", "rita")]
    assert acts(done)[-1] == ("export deleted", "rita")


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """No file of this process may grow beyond so many bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_said_in_words_and_leaves_no_half_file(folder: Path, sign_in: SignIn) -> None:
    rita = factories.person("rita")
    factories.gate()
    with at_most(100):
        export = made(rita)
    assert (export.state, list(folder.iterdir())) == ("failed", [])
    assert export.words.startswith("The disk that holds the folder for exports has no room left")
    assert "has no room left" in sign_in(rita).get(reverse("exports")).content.decode()
    assert acts(export)[-1] == ("export failed", "interlock")


def test_one_that_lost_the_right_while_it_was_made_and_one_of_a_worker_that_ends_leave_nothing(
    folder: Path,
) -> None:
    rita = factories.person("rita")
    factories.gate()
    first, second = orders.order(rita, "ledger", "", "csv"), orders.order(rita, "ledger", "", "jsonl")
    with draining.heeding():
        draining._alone = True
        work.carry_on(second.pk)
    assert Export.objects.get(pk=second.pk).lease_until is None and work.left() == [first.pk, second.pk]
    rita.groups.clear()
    work.carry_on(first.pk)
    work.carry_on(second.pk)
    assert set(Export.objects.values_list("state", flat=True)) == {"failed"}
    assert list(folder.iterdir()) == []
