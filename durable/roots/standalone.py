#!/usr/bin/env python3
"""Verifies a bundle of ledger events with nothing but Python 3.9 or newer: python3 verify.py BUNDLE.zip [options]

--key HEX       the public key, from where you trust it; without it the one in the bundle is taken, and that is said
--anchors FILE  lines of JSON that were kept outside of the database, by letters, a file or an object store

It recomputes each event's hash from its own facts and the hash before it, leads it by its proof to the hash of its
root, follows the chain of statements to the newest one, and checks signatures. Exit code 1 on anything wrong.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from typing import Any

# Ed25519 as in RFC 8032, verification only, in the plain form of its section 6.
P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
Point = tuple[int, int, int, int]


def add(a: Point, b: Point) -> Point:
    """The sum of two points of the curve. A point is (X, Y, Z, T), extended coordinates as RFC 8032 has them."""
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = f - e, h - g, h + g, f + e
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n: int, a: Point) -> Point:
    """`n` times a point; `n` is 0 or more."""
    found: Point = (0, 1, 1, 0)
    while n:
        found, a, n = (add(found, a) if n & 1 else found), add(a, a), n >> 1
    return found


def point(data: bytes) -> Point | None:
    """The point that 32 bytes stand for; None where they stand for none."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - x2) % P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def signed(key: str, text: str, signature: bytes) -> bool:
    """Whether `signature`, 64 bytes, is the signature of `text` by `key`, a public key in hexadecimal digits.

    Raises ValueError where the key has other characters.
    """
    public, r = point(bytes.fromhex(key)), point(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if public is None or r is None or BASE is None or s >= Q or len(signature) != 64:
        return False
    h = hashlib.sha512(signature[:32] + bytes.fromhex(key) + text.encode()).digest()
    left, right = times(s, BASE), add(r, times(int.from_bytes(h, "little") % Q, public))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 == (left[1] * right[2] - right[1] * left[2]) % P


# What is checked.
def sha(data: bytes) -> bytes:
    """The SHA-256 of some bytes, as 32 bytes."""
    return hashlib.sha256(data).digest()


def climb(leaf: bytes, place: int, count: int, path: list[str]) -> str:
    """The Merkle root (RFC 6962) to which a path leads; nothing where it does not fit."""
    found, last, steps = sha(b"\0" + leaf), count - 1, [bytes.fromhex(one) for one in path]
    if not 0 <= place < count:
        return ""
    while last > 0:
        if place ^ 1 <= last:
            if not steps:
                return ""
            beside = steps.pop(0)
            found = sha(b"\1" + (beside + found if place & 1 else found + beside))
        place, last = place >> 1, last >> 1
    return "" if steps else found.hex()


def facts(text: str) -> dict[str, str]:
    """What a statement says, by name: its lines `name: value`, all but the first. Raises ValueError for other lines."""
    return dict(line.split(": ", 1) for line in text.split("\n")[1:])


def lines(text: Any, torn: bool = False) -> Iterator[dict[str, Any]]:
    """Objects of JSON, a line each; with `torn`, a line that a kill has cut off says nothing and does no harm."""
    for line in text:
        try:
            yield json.loads(line)
        except ValueError:
            if line.strip() and not torn:
                raise


def check_statements(bundle: zipfile.ZipFile, key: str, anchors: Any) -> tuple[dict[int, Any], list[str]]:
    """The facts of all statements by number, and what is wrong with them."""
    wrong: list[str] = []
    found: dict[int, dict[str, str]] = {}
    texts: dict[int, str] = {}
    before, newest = "", {}
    for newest in lines(bundle.open("roots.jsonl")):
        text = newest["statement"]
        number = int(facts(text)["number"])
        if found and (number - 1 not in found or facts(text)["previous"] != before):
            wrong.append(f"root {number} does not follow the one before it")
        found[number], texts[number], before = facts(text), text, sha(text.encode()).hex()
    kept = 0
    for one in lines(anchors, torn=True):
        number = int(facts(one["statement"])["number"])
        if texts.get(number, one["statement"]) != one["statement"]:
            wrong.append(f"root {number} is another one than was kept outside")
        kept = max(kept, number if number in found else 0)
    if found:
        text = newest["statement"]
        if facts(text)["key"] != key or not signed(key, text, base64.b64decode(newest["signature"])):
            wrong.append(f"the newest root, {max(found)}, is not signed with {key}")
        print(
            f"roots {min(found)} to {max(found)}: each names the one before it, the newest is signed for all"
        )
        print(f"the newest that was kept outside: {kept or 'none'}; what is only in later ones is not proven")
    return found, wrong


def check_event(one: dict[str, Any], roots: dict[int, Any]) -> str:
    """What is wrong with an event, in words; nothing where it is proven, or in no root yet."""
    text = [one[name] for name in ("run", "no", "kind", "key", "actor", "at", "body")]
    if any("\n" in str(part) for part in text):
        return "it has a line break where none may be"
    row = "\n".join(["interlock-1", *map(str, text)]).encode()
    if sha(bytes.fromhex(one["previous"]) + row).hex() != one["hash"]:
        return "its hash is not what its facts make"
    if one["root"] is None:
        return ""
    root = roots.get(one["root"])
    if root is None:
        return f"root {one['root']} is missing"
    leaf = "\n".join([str(one["id"]), one["run"], str(one["no"]), one["hash"]]).encode()
    led = climb(leaf, one["place"], int(root["count"]), one["path"])
    return "" if led == root["hash"] else f"its proof does not lead to root {one['root']}"


def main() -> int:
    """Verify the bundle that the command line names, and print what was found.

    Returns the exit code: 0 where everything holds, else 1. What is no bundle raises OSError, KeyError, ValueError or
    zipfile.BadZipFile.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle")
    parser.add_argument("--key", default="")
    parser.add_argument("--anchors", type=argparse.FileType(encoding="utf-8"), default=())
    options = parser.parse_args()
    with zipfile.ZipFile(options.bundle) as bundle:
        key = options.key.lower() or bundle.read("public-key.txt").decode().strip()
        print(f"public key {key}" + ("" if options.key else ", as the bundle itself has it"))
        roots, wrong = check_statements(bundle, key, options.anchors)
        events, open_, texts = 0, 0, set()
        ends: dict[str, tuple[int, str]] = {}
        for one in lines(bundle.open("texts.jsonl")):
            texts.add(one["digest"])
            if sha(one["text"].encode()).hex() != one["digest"]:
                wrong.append(f"the text {one['digest']} is not what its digest says")
        for one in lines(bundle.open("events.jsonl")):
            events, open_ = events + 1, open_ + (one["root"] is None)
            said = check_event(one, roots)
            no, hash_ = ends.get(one["run"], (0, ""))
            if no == one["no"] - 1 and hash_ != one["previous"]:
                said = said or "it does not follow the event before it"
            wrong += [f"{one['run']} event {one['no']}: {said}"] if said else []
            ends[one["run"]] = one["no"], one["hash"]
            texts.difference_update(re.findall(r'"([0-9a-f]{64})"', one["body"]))
        wrong += [f"no event names the text {digest}" for digest in sorted(texts)]
    print(f"{events} events of {len(ends)} runs; {open_} of them in no root yet, so proven by nothing")
    print("\n".join(wrong) or "everything holds")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
