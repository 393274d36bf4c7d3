"""The columns of each kind of file, as SQL over the rows that were found: what one row of a file says.

Moments are ISO 8601 in UTC. An amount is there twice: in minor units, and as a decimal number with the decimals of its
currency, which stands in its own column. Nothing that is sealed is in a file: whom something was about stands there as
the keyed hash by which its dossier is found.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from approvals.exports.cells import guarded, suspicious
from durable.money import EXPONENTS
from durable.sql import listed
from durable.summary import DECIDES

#: NUL can't stand in a text of PostgreSQL, and these two in no JSON: so a line of JSON leaves COPY as it is.
_QUOTE, _DELIMITER = r"E'\x01'", r"E'\x02'"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, SQL over a row `f`, and the same for JSON where that can say more than text.

    `free`: a text that can be any text, so that its cell is guarded.
    """

    name: str
    sql: str
    free: bool = False
    json: str = ""


def _plain(name: str) -> Column:
    return Column(name, f"f.{name}")


def _free(name: str) -> Column:
    return Column(name, f"f.{name}", free=True)


def _moment(name: str) -> Column:
    return Column(name, f"""to_char(f.{name} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')""")


def _amount() -> Column:
    """Exact: a product of whole numbers and powers of ten. A code that is no currency has minor units alone."""
    codes: defaultdict[int, list[str]] = defaultdict(list)
    for code, decimals in EXPONENTS.items():
        codes[decimals].append(f"'{code}'")
    cases = " ".join(
        f"WHEN f.currency IN ({', '.join(sorted(some))}) THEN f.amount_minor * {10**-decimals:.{decimals}f}::numeric"
        for decimals, some in sorted(codes.items(), key=lambda one: -len(one[1]))
    )
    return Column("amount", f"(CASE {cases} END)::text")


_ABOUT = "FROM durable_subject s WHERE s.effect_id = f.id"
_SAID = (
    "FROM (SELECT DISTINCT v.actor FROM durable_ledgerevent v WHERE v.effect_key = f.key AND v.effect_key <> ''"
    f" AND v.kind IN ({listed(DECIDES)})) d"
)
LEDGER: tuple[Column, ...] = (
    _free("key"),
    Column("run", "f.ref"),
    _free("agent"),
    _free("requester"),
    _free("step"),
    _free("tool"),
    _plain("tool_version"),
    Column("class", "f.effect_class"),
    _free("vendor"),
    _plain("state"),
    Column("undone", "f.undone::text", json="f.undone"),
    _free("undoes"),
    _plain("amount_minor"),
    _amount(),
    _free("currency"),
    _free("reason"),
    Column(
        "subjects",
        f"(SELECT string_agg(s.kind || ':' || s.hash, ' ' ORDER BY s.kind) {_ABOUT})",
        free=True,
        json=f"(SELECT coalesce(json_object_agg(s.kind, s.hash ORDER BY s.kind), '{{}}') {_ABOUT})",
    ),
    Column(
        "decided_by",
        f"(SELECT string_agg(d.actor, ' ' ORDER BY d.actor) {_SAID})",
        free=True,
        json=f"(SELECT coalesce(json_agg(d.actor ORDER BY d.actor), '[]') {_SAID})",
    ),
    _plain("sends"),
    _free("receipt_id"),
    Column("adopted", "f.adopted::text", json="f.adopted"),
    _free("failure"),
    _moment("recorded_at"),
    _moment("first_sent_at"),
    _moment("last_sent_at"),
    _moment("settled_at"),
    _plain("digest"),
)
LOG: tuple[Column, ...] = (
    _moment("at"),
    _free("actor"),
    _plain("kind"),
    _free("chain"),
    _plain("no"),
    _free("concerns"),
    Column("body", "f.body", free=True, json="durable_body(f.body)"),
    Column("hash", "encode(f.hash, 'hex')"),
)


def copy_csv(columns: tuple[Column, ...], found: str, order: str) -> str:
    """The statement that streams what `found` finds as rows of CSV, without a head."""
    # Their order and the offset keep the planner from working each value out as often as it is named.
    values = ", ".join(f'{one.sql} AS "{one.name}"' for one in columns)
    rows = f"SELECT {values} FROM ({found}) f ORDER BY {order}"
    looked = suspicious(f'c."{one.name}"' for one in columns if one.free)
    cells = ", ".join(_cell(one) for one in columns)
    return (
        f"COPY (SELECT {cells} FROM (SELECT c.*, {looked} AS suspicious FROM ({rows}) c OFFSET 0) d)"
        " TO STDOUT WITH (FORMAT csv)"
    )


def _cell(column: Column) -> str:
    text = f'd."{column.name}"'
    return f"CASE WHEN d.suspicious THEN {guarded(text)} ELSE {text} END" if column.free else text


def copy_jsonl(columns: tuple[Column, ...], found: str, order: str) -> str:
    """The same as an object a line."""
    values = ", ".join(f'{one.json or one.sql} AS "{one.name}"' for one in columns)
    lines = f"SELECT row_to_json(j)::text FROM (SELECT {values} FROM ({found}) f ORDER BY {order}) j"
    return f"COPY ({lines}) TO STDOUT WITH (FORMAT csv, DELIMITER {_DELIMITER}, QUOTE {_QUOTE})"
