"""The vendor: takes requests off the wire whenever it likes, honours keys as declared, and sometimes errs.

Whatever it does, its answer may arrive, or be lost; then the worker knows nothing, and the book has what it has.
"""

from __future__ import annotations

from collections.abc import Iterator

from proof.model.case import WRONG, Case
from proof.model.world import (
    ASKED,
    KNOWS,
    QUIET,
    Effect,
    Move,
    Movement,
    Request,
    World,
    lineage,
)

#: What a look-up says: found (with the movement's place in the book), nothing, several, can't say, no look-up.
LookUp = tuple[str, int]
Done = tuple[str, World, str, int]


def moves(world: World, case: Case) -> Iterator[Move]:
    """Everything that the vendor, or the wire to it, may do next."""
    seen = None
    for place, request in enumerate(world.wire):
        if request == seen:
            continue
        seen = request
        off = world._replace(wire=world.wire[:place] + world.wire[place + 1 :])
        for line, after, answer, receipt in _handle(off, case, request):
            yield from _answer(line, after, request, answer, receipt)
        if world.luck.lose:
            lost = off.spend_luck(lose=1)
            yield (
                f"the request for {request.key} is lost on its way",
                _hears(lost, request.by, "no answer", -1),
            )
            if request.by >= 0:
                still = (*world.wire[:place], request._replace(by=-1), *world.wire[place + 1 :])
                waits = world._replace(wire=tuple(sorted(still))).spend_luck(lose=1)
                yield (
                    f"worker {request.by + 1} gives up waiting; its request for {request.key} is still on its way",
                    _hears(waits, request.by, "no answer", -1),
                )


def _handle(world: World, case: Case, request: Request) -> Iterator[Done]:
    """What the vendor may make of one request: what it does, and what it answers."""
    key, vendor = request.key, case.vendor
    known = next((n for n, one in enumerate(world.book) if one.key == key), -1)
    if vendor.keyed and key not in world.forgot:
        if key in world.errors:
            yield f"the vendor repeats the error that it has saved for {key}", world, "saved error", -1
            return
        if known >= 0 and world.book[known].body not in (request.body, WRONG):
            if vendor.other_body == "refuses":
                yield f"the vendor refuses another body under {key}", world, "refused", -1
                return
            if vendor.other_body == "ignores":
                yield f"the vendor ignores the other body under {key}", world, "receipt", known
                return
        elif known >= 0:
            yield f"the vendor knows {key} and answers as before", world, "receipt", known
            return
    yield (
        f"the vendor moves {request.body} for {key}",
        _book(world, key, request.body, request.stamp),
        "receipt",
        len(world.book),
    )
    luck = world.luck
    if luck.wrong:
        odd = _book(world.spend_luck(wrong=1), key, WRONG, request.stamp)
        yield f"the vendor moves {WRONG} for {key}, by mistake", odd, "receipt", len(world.book)
    if luck.refuse:
        yield f"the vendor refuses {key} for good", world.spend_luck(refuse=1), "refused", -1
    if luck.error and vendor.keyed:
        failed = world.spend_luck(error=1)._replace(errors=tuple(sorted({*world.errors, key})))
        yield f"the vendor fails over {key} and saves its error", failed, "saved error", -1


def _book(world: World, key: str, body: int, stamp: str) -> World:
    return world._replace(book=(*world.book, Movement(key, body, stamp)))


def _answer(line: str, world: World, request: Request, answer: str, receipt: int) -> Iterator[Move]:
    """The answer arrives at the worker that waits for it, or gets lost on the way back."""
    if request.by < 0:
        yield f"{line}; nobody waits for the answer", world
        return
    yield f"{line}, and answers", _hears(world, request.by, answer, receipt)
    if world.luck.lose:
        lost = world.spend_luck(lose=1)
        yield f"{line}, and the answer is lost", _hears(lost, request.by, "no answer", -1)


def _hears(world: World, by: int, answer: str, receipt: int) -> World:
    if by < 0 or world.workers[by].beat != ASKED:
        return world
    return world.with_worker(by, world.workers[by]._replace(beat=KNOWS, answer=answer, receipt=receipt))


def look_up(world: World, case: Case, effect: Effect) -> list[LookUp]:
    """Everything that a look-up of an effect may say now. A receipt that a late worker has left comes first."""
    if effect.late >= 0:
        return [("found", effect.late)]
    if not case.vendor.looks:
        return [("no look-up", -1)]
    if case.vendor.looks == "by key":
        hits = [n for n, one in enumerate(world.book) if one.key == effect.key]
    else:
        hits = [
            n
            for n, one in enumerate(world.book)
            if one.body in (effect.body, WRONG) and (":undo" in one.key) == effect.undo
        ]
    said: list[LookUp] = [
        ("found", hits[0]) if len(hits) == 1 else ("several", -1) if hits else ("nothing", -1)
    ]
    if hits and case.vendor.lags and effect.phase < QUIET:
        said.append(("nothing", -1))
    if case.vendor.silent:
        said.append(("can't say", -1))
    return said


def seen_by_people(world: World, case: Case, effect: Effect) -> list[list[int]]:
    """What a person may see at the vendor of an act, by its business reference: its movements, or none yet."""
    act = lineage(effect.key)
    hits = [n for n, one in enumerate(world.book) if lineage(one.key) == act]
    if hits and case.vendor.lags and effect.phase < QUIET:
        return [hits, []]
    return [hits]
