"""The proof's own honesty: nothing counts as shown that was not tried, or whose process did not come to its end."""

from __future__ import annotations

from pathlib import Path

from proof import parts, prove
from proof.parts import PARTS, Extent
from proof.report import Row, Tally


def test_a_proof_is_sound_where_all_was_tried_and_nothing_found() -> None:
    tally = Tally()
    assert not tally.sound()
    tally.add([Row("races", 500)])
    assert tally.sound()
    tally.add([Row("chaos", 0)])
    assert not tally.sound()


def test_a_violation_is_told_with_the_command_that_shows_it_again() -> None:
    tally = Tally(
        [Row("schedules", 2_000, ("order 7 moved twice",), 12.3, "seed 5", "manage.py prove --seed 5")]
    )
    assert not tally.sound()
    head, line, violation, again = tally.table()
    assert head.split() == ["what", "tried", "violations", "seconds", "remark"]
    assert line.split() == ["schedules", "2,000", "1", "12.3", "seed", "5"]
    assert violation == "VIOLATION in schedules: order 7 moved twice"
    assert again == "  again: manage.py prove --seed 5"


def test_a_part_that_does_not_come_to_its_end_is_a_violation() -> None:
    (row,) = prove.one("no such part", Extent())
    assert row.violations == ("it ended with exit code 2 and 0 rows",)


def test_parts_that_wait_go_beside_those_that_compute_and_what_is_held_against_the_clock_goes_alone() -> None:
    assert list(prove.in_turn(list(PARTS))) == [
        [["model", "points", "schedules", "races"], ["zombies", "database", "tampering"]],
        [["promptness"]],
        [["chaos"]],
    ]
    assert list(prove.in_turn(["chaos"])) == [[["chaos"]]]
    assert list(prove.in_turn(["database"])) == [[["database"]]]


def test_every_part_says_what_it_takes_of_the_extent() -> None:
    extent = Extent(
        schedules=7, seed=3, rounds=5, zombies=4, kills=2, samples=3, trials=6, chaos=9.0, long=True
    )
    taken = {name: part.takes(extent) for name, part in PARTS.items()}
    assert taken["schedules"] == {"schedules": 7, "seed": 3}
    assert taken["points"]["long"] is True
    assert [taken[name] for name in ("races", "zombies", "promptness", "database")] == [
        {"rounds": 5},
        {"count": 4},
        {"samples": 3},
        {"kills": 2},
    ]
    assert taken["tampering"] == {"trials": 6, "seed": 3}
    assert taken["chaos"] == {"seconds": 9.0, "seed": 3}


def test_rows_come_back_from_a_parts_process_as_they_were(tmp_path: Path) -> None:
    rows = [Row("model", 9, ("a", "b"), 1.5, "bounds", "again"), Row("races", 3)]
    parts.write(tmp_path / "rows", rows)
    assert parts.read(tmp_path / "rows") == rows
    assert parts.read(tmp_path / "none") == []
