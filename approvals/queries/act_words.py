"""Acts in words: what each did, and what it changed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from approvals import moments
from approvals.queries import statements
from durable.states import ActKind, EventKind
from durable.text import quoted
from durable.vendor_statements.accounts import named

#: What follows the actor's name; the object follows it.
TEXTS: dict[str, str] = {
    ActKind.SIGNED_IN: "signed in",
    ActKind.SIGNED_OUT: "signed out",
    ActKind.SIGN_IN_REFUSED: "could not sign in as",
    ActKind.REFUSED: "was refused",
    ActKind.MORE_REFUSED: "was refused again",
    ActKind.PERSON_ADDED: "added",
    ActKind.PERSON_CHANGED: "changed",
    ActKind.PERSON_REMOVED: "removed",
    ActKind.ROLES_CHANGED: "changed the roles of",
    ActKind.RIGHTS_CHANGED: "changed the rights of",
    ActKind.ROLE_ADDED: "added",
    ActKind.ROLE_CHANGED: "changed",
    ActKind.ROLE_REMOVED: "removed",
    ActKind.RIGHT_CHANGED: "made another right of",
    ActKind.RIGHT_REMOVED: "removed",
    ActKind.LOOK_ASKED: "had the vendor asked about it",
    ActKind.VIEW_SAVED: "saved a view of the runs list",
    ActKind.VIEW_DELETED: "deleted a view of the runs list",
    ActKind.BULK_DRAFTED: "drafted",
    ActKind.BULK_STARTED: "started",
    ActKind.BULK_STOPPED: "stopped",
    ActKind.BULK_ENDED: "ended",
    ActKind.EXPORT_ASKED: "asked for",
    ActKind.EXPORT_MADE: "made",
    ActKind.EXPORT_TAKEN: "downloaded",
    ActKind.EXPORT_STOPPED: "stopped",
    ActKind.EXPORT_FAILED: "could not make",
    ActKind.EXPORT_EXPIRED: "removed the file of",
    ActKind.EXPORT_DELETED: "deleted the file of",
    ActKind.DOSSIER_TAKEN: "took the dossier as a file of",
    ActKind.STOP_ORDERED: "ordered",
    ActKind.STOP_LIFTED: "lifted",
    ActKind.RESTORE_BEGUN: "began to go through",
    ActKind.RESTORE_CHECKED: "has gone through",
    ActKind.LEGAL_HOLD_SET: "set",
    ActKind.LEGAL_HOLD_LIFTED: "lifted",
    ActKind.ERASURE_ASKED: "asked for",
    ActKind.ERASURE_AGREED: "agreed to",
    ActKind.ERASURE_WITHDRAWN: "withdrew",
    ActKind.ERASURE_ENDED: "has seen the end of",
    ActKind.ERASED: "had personal data erased",
    ActKind.STATEMENT_ASKED: "asked for",
    ActKind.STATEMENT_MADE: "made",
    ActKind.DIFFERENCE_EXPLAINED: "explained a difference in",
    ActKind.RETENTION_CHANGED: "changed",
    ActKind.RETENTION_PASSED: "pruned what is kept no longer:",
    ActKind.LEDGER_CUT: "cut the ledger:",
}
_SHOWN = 60


def details(kind: str, actor: str, body: Mapping[str, Any]) -> list[str]:
    """What else the act's facts say of it, a line each."""
    if kind in (ActKind.REFUSED, ActKind.MORE_REFUSED, ActKind.SIGN_IN_REFUSED):
        return _refused(body)
    if kind == EventKind.REFUSED_DECISION and body.get("said"):
        return [str(body["said"])]
    if kind == ActKind.RETENTION_PASSED:
        return _passed(body)
    if kind == ActKind.LEDGER_CUT:
        return [f"Its records until {_until(body)} may go; root {body.get('root')} says so, signed"]
    if kind in (ActKind.LEGAL_HOLD_SET, ActKind.LEGAL_HOLD_LIFTED):
        return [f"on a {body.get('scope', '')}{_days_of(body)}"]
    if kind.startswith("bulk act"):
        return [str(body.get("act", ""))]
    if kind in (ActKind.STOP_ORDERED, ActKind.STOP_LIFTED):
        return [" ".join(filter(None, (str(body.get("scope", "")), str(body.get("name", "")))))]
    if kind.startswith("export"):
        return _export(body)
    if kind in (ActKind.ERASURE_ASKED, ActKind.ERASURE_AGREED, ActKind.ERASURE_ENDED, ActKind.ERASED):
        return _erased(body)
    if kind in (ActKind.STATEMENT_ASKED, ActKind.STATEMENT_MADE):
        return _of_statement(body)
    if kind == ActKind.DIFFERENCE_EXPLAINED:
        return [f"{quoted(str(body.get('receipt') or body.get('effect')))}: {body.get('kind')}"]
    role = f"database role {body.get('role')}"
    return [f"through the {role}"] if "role" in body and role != actor else []


def _days_of(body: Mapping[str, Any]) -> str:
    return f", in days of {body['zone']}" if body.get("zone") else ""


def _export(body: Mapping[str, Any]) -> list[str]:
    what = f"{str(body.get('of', '')).capitalize()}, {body.get('form', '')}"
    rows = (
        f"{body['rows']:,} row{'' if body['rows'] == 1 else 's'}" if isinstance(body.get("rows"), int) else ""
    )
    return [line for line in (", ".join(filter(None, (what, rows))), str(body.get("why", ""))) if line]


def _erased(body: Mapping[str, Any]) -> list[str]:
    why, reference = str(body.get("why", "")), str(body.get("reference", ""))
    runs = f"{body['runs']:,} run{'' if body['runs'] == 1 else 's'}" if "runs" in body else ""
    beside = body.get("beside")
    besides = f"and {sum(beside.values()):,} beside them" if beside and isinstance(beside, dict) else ""
    again = "once more, after a restore" if body.get("again") else ""
    return [
        ", ".join(
            filter(
                None, (f"{why[:1].upper()}{why[1:]}", reference and quoted(reference), runs, besides, again)
            )
        )
    ]


def _of_statement(body: Mapping[str, Any]) -> list[str]:
    """Of whose account and which period it is, and how much differed."""
    where = named(str(body.get("vendor", "")), str(body.get("account", "")))
    lines = [f"{where}, {_period(body)}"]
    if "differences" in body:
        found = body["differences"]
        lines.append("everything agrees" if not found else f"{found:,} difference{'' if found == 1 else 's'}")
    return lines


def _period(body: Mapping[str, Any]) -> str:
    start, end = (str(body.get(name, "")) for name in ("from", "to"))
    try:
        return statements.period(datetime.fromisoformat(start), datetime.fromisoformat(end))
    except ValueError:
        return f"{start} to {end}"


def _passed(body: Mapping[str, Any]) -> list[str]:
    """What went in a pass of retention, and why something that was due did not."""
    gone = body.get("gone") if isinstance(body.get("gone"), dict) else {}
    parts = [f"{number:,} {name}" for name, number in (gone or {}).items() if number]
    return [", ".join(parts) or "nothing was due", *([str(body["left"])] if body.get("left") else [])]


def _refused(body: Mapping[str, Any]) -> list[str]:
    why = str(body.get("why", ""))
    right = f"Missing right: {body['right']}." if body.get("right") else ""
    lines = [" ".join(filter(None, (f"{why[:1].upper()}{why[1:]}", right)))]
    if body.get("address"):
        lines.append(f"Asked: {body.get('method', '')} {body['address']}")
    if "count" in body:
        whose = "All strangers together" if "of" in body else ""
        whose = (
            "From one address"
            if "source" in body and not str(body["source"]).startswith("person:")
            else whose
        )
        lines.append(f"{whose}{', ' if whose else ''}{body['count']:,} times more, until {_until(body)}")
    return [line for line in lines if line]


def _until(body: Mapping[str, Any]) -> str:
    try:
        return moments.whole(datetime.fromisoformat(str(body.get("until", ""))))
    except ValueError:
        return "its while was over"


def changes(body: Mapping[str, Any]) -> list[dict[str, str]]:
    """What an act changed: each thing with what it was and what it is; of lists what came and what went."""
    before, after = _part(body, "before"), _part(body, "after")
    return [_change(name, before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after))]


def _part(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = body.get(name)
    return part if isinstance(part, dict) else {}


def _change(name: str, was: Any, now: Any) -> dict[str, str]:
    if isinstance(was, list) and isinstance(now, list):
        went = [_word(one) for one in was if one not in now]
        came = [_word(one) for one in now if one not in was]
        return {"name": name, "went": _few(went), "came": _few(came)}
    return {"name": name.replace("_", " "), "was": _word(was), "now": _word(now)}


def _few(words: list[str]) -> str:
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return ", ".join(words[:_SHOWN]) + more


def _word(value: Any) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
