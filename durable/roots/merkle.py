"""Merkle trees as in RFC 6962: one hash over many leaves, and short proofs that a leaf is among them.

A leaf is hashed behind a byte 0, two hashes behind a byte 1, so that nothing passes for the other. Of n leaves the left
half is the largest power of two below n. Nothing here knows what a leaf stands for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

_LEAF, _PAIR = b"\x00", b"\x01"
#: The hash of a tree without leaves.
EMPTY = hashlib.sha256().digest()


def leaf(data: bytes) -> bytes:
    """Return the hash of one leaf."""
    return hashlib.sha256(_LEAF + data).digest()


def pair(left: bytes, right: bytes) -> bytes:
    """Return the hash over two."""
    return hashlib.sha256(_PAIR + left + right).digest()


class Tree:
    """Takes leaves in order and forgets them: it keeps one hash for each doubling."""

    def __init__(self) -> None:
        self.count = 0
        self._whole: list[bytes] = []  # of the complete subtrees so far, the largest first

    def add(self, data: bytes) -> None:
        """Take the next leaf."""
        found = leaf(data)
        place = self.count
        while place & 1:  # each 1 at the end of the number is a subtree that this leaf completes
            found = pair(self._whole.pop(), found)
            place >>= 1
        self._whole.append(found)
        self.count += 1

    def root(self) -> bytes:
        """Return the hash over all leaves so far."""
        if not self._whole:
            return EMPTY
        found = self._whole[-1]
        for left in reversed(self._whole[:-1]):
            found = pair(left, found)
        return found


class Levels:
    """All hashes of a tree, from its leaves up: for proofs of many leaves. Takes 64 bytes and some for each."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self._levels = [[leaf(data) for data in leaves]]
        while len(self._levels[-1]) > 1:
            below = self._levels[-1]
            above = [pair(*below[at : at + 2]) for at in range(0, len(below) - 1, 2)]
            # One that is left over rises as it is: exactly what the split at a power of two comes to.
            self._levels.append(above + below[len(below) & ~1 :])

    def root(self) -> bytes:
        """Return the hash over all leaves."""
        return self._levels[-1][0] if self._levels[0] else EMPTY

    def path(self, place: int) -> list[bytes]:
        """Return the hashes beside the way from the leaf at `place` (from 0) to the root, from below.

        Raises IndexError where there is no such leaf.
        """
        if not 0 <= place < len(self._levels[0]):
            raise IndexError(f"no leaf {place} among {len(self._levels[0])}")
        found = []
        for level in self._levels[:-1]:
            if place ^ 1 < len(level):
                found.append(level[place ^ 1])
            place >>= 1
        return found


def climb(data: bytes, place: int, count: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root to which `path` leads from the leaf at `place` of `count`; None where it is not that long."""
    if not 0 <= place < count or len(path) != len(left := sides(place, count)):
        return None
    found = leaf(data)
    for beside, on_the_left in zip(path, left, strict=True):
        found = pair(beside, found) if on_the_left else pair(found, beside)
    return found


def sides(place: int, count: int) -> list[bool]:
    """Say of each hash on the path of a leaf, from below, whether it stands on the left."""
    found, last = [], count - 1
    while last > 0:
        if place ^ 1 <= last:
            found.append(bool(place & 1))
        place, last = place >> 1, last >> 1
    return found
