"""Merkle trees against the definition of RFC 6962, written down here once more as plainly as it stands there."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from durable.roots.merkle import Levels, Tree, climb, sides

LEAVES = some.lists(some.binary(max_size=40), max_size=70)


def split(count: int) -> int:
    """The largest power of two below `count`."""
    found = 1
    while found * 2 < count:
        found *= 2
    return found


def mth(leaves: list[bytes]) -> bytes:
    """The Merkle Tree Hash of section 2.1."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = split(len(leaves))
    return hashlib.sha256(b"\x01" + mth(leaves[:k]) + mth(leaves[k:])).digest()


def path(m: int, leaves: list[bytes]) -> list[bytes]:
    """The Merkle audit path of section 2.1.1."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if m < k:
        return [*path(m, leaves[:k]), mth(leaves[k:])]
    return [*path(m - k, leaves[k:]), mth(leaves[:k])]


def tree_of(leaves: list[bytes]) -> Tree:
    tree = Tree()
    for data in leaves:
        tree.add(data)
    return tree


@given(LEAVES)
@settings(max_examples=150, deadline=None)
def test_a_tree_has_the_hash_that_the_definition_gives_it(leaves: list[bytes]) -> None:
    tree = tree_of(leaves)
    assert (tree.count, tree.root(), Levels(leaves).root()) == (len(leaves), mth(leaves), mth(leaves))


@given(LEAVES.filter(bool), some.data())
@settings(max_examples=150, deadline=None)
def test_every_leaf_has_the_path_of_the_definition_and_it_leads_to_the_root(
    leaves: list[bytes], data: some.DataObject
) -> None:
    place = data.draw(some.integers(0, len(leaves) - 1))
    found = Levels(leaves).path(place)
    assert found == path(place, leaves)
    assert len(sides(place, len(leaves))) == len(found)
    assert climb(leaves[place], place, len(leaves), found) == mth(leaves)


@given(some.lists(some.binary(min_size=1, max_size=8), min_size=2, max_size=40, unique=True), some.data())
@settings(max_examples=150, deadline=None)
def test_no_other_leaf_place_or_path_leads_to_the_root(leaves: list[bytes], data: some.DataObject) -> None:
    place, other = data.draw(some.permutations(range(len(leaves))).map(lambda order: order[:2]))
    found, count, root = Levels(leaves).path(place), len(leaves), mth(leaves)
    assert climb(leaves[other], place, count, found) != root
    assert climb(leaves[place], other, count, found) != root
    assert climb(leaves[place], place, count, found[:-1]) != root
    assert climb(leaves[place], place, count, [*found, root]) != root
    assert climb(leaves[place], place + count, count, found) is None


def test_a_known_tree_of_the_standards_examples_has_the_known_hash() -> None:
    """The leaves and hashes that implementations of certificate transparency test themselves with."""
    leaves = [
        bytes.fromhex(one)
        for one in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657",
                    "606162636465666768696a6b6c6d6e6f")
    ]  # fmt: skip
    known = {
        1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    }
    assert {count: tree_of(leaves[:count]).root().hex() for count in known} == known


def test_a_leaf_that_is_not_there_has_no_path() -> None:
    for place in (-1, 3):
        with pytest.raises(IndexError, match="no leaf"):
            Levels([b"a", b"b", b"c"]).path(place)
