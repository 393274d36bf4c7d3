"""Workers that are stopped beyond their lease, and wake up when another has finished their run.

At every beat that a run's worker passes, at a vendor that honours keys and at vendors that know none, a real worker
process gets SIGSTOP, its heartbeat with it. Another worker finishes the run. After SIGCONT every write of the first
must be refused but one: a `late answer`, which changes no state. No second movement may be in the vendor's book.

What no software on our side can rule out, and the proof therefore does not claim: a worker that is stopped between the
wire's last look at the send-by and the socket, a few instructions later. A vendor that honours keys ignores what it
then sends; for any other, nobody is believed that it did not happen before quiescence, which bounds it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from proof.report import Row, Say

if TYPE_CHECKING:
    from proof.races.ground import Ground

#: Workers that sleep side by side.
BATCH = 12
#: Where the control's workers sleep.
UNFENCED = ("claim.after_commit:1", "checkpoint.before_commit:1")


def prove(say: Say, *, count: int) -> list[Row]:
    """Let `count` workers fall asleep, at other points as far as there are some; then show what the fence is for."""
    from django.test.utils import override_settings

    from approvals.people import demo_people
    from proof.races.ground import Ground, people
    from proof.stage import stage

    with stage() as on:
        vendor = on.start_vendor()
        with override_settings(**on.settings):
            demo_people()
            return shown(say, Ground(vendor, people()), on.settings, count)


def shown(say: Say, ground: Ground, settings: dict[str, str], count: int) -> list[Row]:
    """The same on a ground that is there already. `settings` point the workers at its vendor."""
    from proof.zombies import cases, lives

    known = cases.enumerate_all(ground)
    chosen = known[:count]
    again = f"python -m proof.zombies --count {count}"
    with lives.keeping(settings) as keeper:
        began, whole = time.monotonic(), lives.Tale()
        for first in range(0, len(chosen), BATCH):
            whole.add(lives.play(ground, keeper, chosen[first : first + BATCH]))
            say(f"zombies: {whole.tried} of {len(chosen)} have woken up, {len(whole.wrong)} violations")
        met = len({case.point for case in chosen})
        remark = (
            f"at {met} points, of {len(known)} cases; they added {whole.late} late answers and nothing else"
        )
        slept = Row(
            "workers that wake up too late",
            whole.tried,
            tuple(whole.wrong),
            time.monotonic() - began,
            remark,
            again,
        )
        began = time.monotonic()
        unfenced = [case for case in known if case.stop in UNFENCED]
        damage = lives.play(ground, keeper, unfenced, without=True).damage
    damage.sort(key=lambda sentence: "Checkpoint" not in sentence)  # the worst first: progress rolled back
    wrong = [] if damage else ["nothing was overwritten: the proof can't fail"]
    control = Row(
        "the same without the fence",
        len(unfenced),
        tuple(wrong),
        time.monotonic() - began,
        f"damage: {damage[0]}" if damage else "",
        again,
    )
    say(f"zombies without the fence: {control.remark or wrong[0]}")
    return [slept, control]
