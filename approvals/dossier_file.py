"""A dossier as a file: JSON that says of itself what it is, when it was made and by whom. Moments are UTC."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from approvals.queries import dossier, dossiers
from approvals.queries.dossiers import Dossier
from durable.errors import Invalid
from durable.models import Effect
from durable.money import written
from durable.present import Seen

FORM = "interlock-dossier-1"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


#: In place of a vendor's answer, where nobody asked.
NOT_ASKED = "not asked"


def made(found: Dossier, by: str, zone: str, seen: Mapping[str, Seen]) -> tuple[str, bytes]:
    """The file's name, in plain letters, and its bytes.

    `zone` is the time zone of who takes it, in which their page showed days; `seen` what vendors have just said, by the
    key of the effect.
    """
    now, gone = found.at, found.gone or {}
    effects = dossier.whole(Effect.objects.filter(pk__in=[row["id"] for row in found.rows]).order_by("-pk"))
    cases = dossier.cases(effects)
    content = {
        "form": FORM,
        "about": {"kind": found.kind, "name": found.name, "title": dossiers.titled(found, cases)},
        "made": {"at": now, "by": by, "zone": zone},
        "complete": found.complete,
        "newest_only": found.cut,
        "ledger_gone": found.gone is not None,
        "ledger_gone_until": gone.get("until"),
        "ledger_gone_root": gone.get("root"),
        "legal_holds": [{"hold": one.pk, "set_by": one.actor, "set_at": one.at} for one in found.held],
        "sums": [
            {
                "currency": money.currency,
                "applied": amount(money.applied, money.currency),
                "of_it_undone": amount(money.undone, money.currency),
                "in_doubt": amount(money.doubt, money.currency),
                "count": money.count,
            }
            for money in dossiers.sums(found.rows)
        ],
        "effects": [_plain_case(case, seen.get(case["key"])) for case in cases],
    }
    name = (
        f"dossier-{found.kind}-{_UNSAFE.sub('-', found.name)[:60]}-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}.json"
    )
    return name, json.dumps(content, ensure_ascii=False, indent=1, default=_text).encode(
        "utf-8", "backslashreplace"
    )


def amount(minor: int | None, currency: str) -> str | None:
    """An amount as text, with its currency's decimals."""
    if minor is None:
        return None
    try:
        return written(minor, currency)
    except Invalid:  # a file tells what is stored, whatever it is
        return f"{minor} minor units"


def _plain_case(case: Mapping[str, Any], seen: Seen | None) -> dict[str, Any]:
    plain = {name: value for name, value in case.items() if name not in ("id", "minor")}
    return plain | {
        "amount": amount(case["minor"], case["currency"]),
        "amount_minor": case["minor"],
        "at_vendor": NOT_ASKED if seen is None else dossier.at_vendor(seen),
    }


def _text(value: object) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes):  # a payload, which is JSON itself
        return json.loads(value)
    raise TypeError(f"{type(value).__name__} has no place in a dossier")
