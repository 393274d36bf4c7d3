"""What a statement's rows are held to: the SQL that hashes them when it is made, and whenever it is verified."""

from __future__ import annotations

_SAME = (
    "kind", "receipt", "effect_key", "undo", "ledger_minor", "ledger_currency", "vendor_amount", "vendor_minor",
    "vendor_currency",
)  # fmt: skip


def likeness(row: str, vendor: str, account: str) -> str:
    """SQL for all that makes a row of this alias the difference that it is: SHA-256 in hexadecimal digits.

    `vendor` and `account` are SQL for the account's two names.
    """
    same = ", ".join(f"{row}.{name}" for name in _SAME)
    return _hash(f"jsonb_build_array({vendor}::text, {account}::text, {same})::text")


def together(row: str) -> str:
    """SQL for what several rows of `durable_difference` are by their likenesses, in the order of their ids."""
    return _hash(f"coalesce(string_agg({row}.likeness, E'\\n' ORDER BY {row}.id), '')")


def whole(row: str) -> str:
    """SQL for everything that stands in several rows of `durable_difference`, in the order of their ids."""
    at = f"to_char({row}.at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')"
    one = f"jsonb_build_array({row}.likeness, {row}.effect_id, {row}.vendor_key, {row}.target, {at})::text"
    return _hash(f"coalesce(string_agg({one}, E'\\n' ORDER BY {row}.id), '')")


def _hash(text: str) -> str:
    return f"encode(sha256(convert_to({text}, 'UTF8')), 'hex')"
