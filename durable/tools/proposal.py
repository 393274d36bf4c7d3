"""A tool and its arguments, settled to the byte: what is gated, approved, sent, and held against the ledger."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from durable.digest import canonical, sha256
from durable.errors import Invalid
from durable.money import exponent, from_minor, to_minor
from durable.text import join
from durable.tools.arguments import as_json
from durable.tools.facts import Facts

_AMOUNT = re.compile(r"[0-9]+(\.[0-9]+)?")
_SHOWN = 4
_LONG_ENOUGH = 12


@dataclass(frozen=True, slots=True)
class Proposal:
    """One effect (or read) as proposed; two are the same exactly when their digests are.

    `args` are plain JSON, amounts as text in the currency's decimals. `canonical` are the RFC 8785 bytes of tool,
    version, vendor, account and args, `digest` the SHA-256 over them. `amount_minor` and `currency` are set where the
    tool moves money. `subjects` maps a kind (order, customer) to its value, `once_per` is equal for two effects of
    which there should be only one, `target` is what the receipt's target must equal. All three hold personal data;
    `reason`, one of the tool's own words, holds none.
    """

    tool: str
    version: int
    args: Mapping[str, Any] = field(repr=False)
    canonical: bytes = field(repr=False)
    digest: str
    amount_minor: int | None
    currency: str | None
    subjects: Mapping[str, str] = field(repr=False)
    once_per: str | None = field(repr=False)
    target: str | None = field(repr=False)
    secret: tuple[str, ...]
    reason: str = ""

    def public_args(self) -> dict[str, Any]:
        """The arguments for pages and logs: secrets show their last four characters at most, and say so."""
        return {name: _mask(value) if name in self.secret else value for name, value in self.args.items()}


def build(name: str, facts: Facts, typed: Mapping[str, Any], given: Mapping[str, Any]) -> Proposal:
    """The proposal of typed arguments; `given` are the same as they came in. Refuses with `args.<name>`."""
    amount_minor = currency = None
    if facts.money is not None and facts.currency is not None:
        currency = str(typed[facts.currency])
        amount_minor = _amount(facts.money, facts.currency, typed, given)
    args = as_json(typed)
    if facts.money is not None and amount_minor is not None and currency is not None:
        args[facts.money] = format(from_minor(amount_minor, currency), "f")
    settled = canonical(
        {
            "tool": name,
            "version": facts.version,
            "vendor": facts.vendor,
            "account": facts.account,
            "args": args,
        }
    )
    return Proposal(
        tool=name,
        version=facts.version,
        args=args,
        canonical=settled,
        digest=sha256(settled),
        amount_minor=amount_minor,
        currency=currency,
        subjects=_subjects(facts.subjects, args),
        once_per=_once_per(name, facts.once_per, args),
        target=_name(args[facts.target], facts.target) if facts.target is not None else None,
        secret=facts.secret,
        reason="" if facts.reason is None else str(args[facts.reason]),
    )


def _amount(money: str, currency: str, typed: Mapping[str, Any], given: Mapping[str, Any]) -> int:
    """The amount in minor units: above 0, and written with no more decimals than the currency has."""
    where = join("args", money)
    code = typed[currency]
    decimals = exponent(code, join("args", currency))
    minor = to_minor(typed[money], code, where)
    if minor <= 0:
        raise Invalid(where, "must be above 0")
    written = given.get(money)
    if isinstance(written, str) and not _AMOUNT.fullmatch(written):
        raise Invalid(where, "must be digits with a decimal point at most, such as 1234.50")
    if isinstance(written, str) and len(written.partition(".")[2]) > decimals:
        # As text, 10.000 is as likely ten thousand as ten: the value alone does not settle it.
        raise Invalid(where, f"must be written with at most {decimals} decimals in {code}")
    return minor


def _subjects(declared: Mapping[str, str], args: Mapping[str, Any]) -> dict[str, str]:
    """Kind and value of each subject that is given; a missing or empty one cannot be searched for."""
    found = {kind: _name(args[name], name) for kind, name in declared.items()}
    return {kind: value for kind, value in found.items() if value}


def _once_per(tool: str, declared: tuple[str, ...], args: Mapping[str, Any]) -> str | None:
    if not declared:
        return None
    named = {name: value.strip() if isinstance(value := args[name], str) else value for name in declared}
    return canonical({"tool": tool, "args": named}).decode()


def _name(value: object, argument: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, (bool, float, dict, list)):
        raise Invalid(
            join("args", argument), "must be text or a whole number: it names a subject or a target"
        )
    return str(value)


def _mask(value: object) -> str:
    """The last four characters of a long text; nothing of a short one, of which four would give too much away."""
    shown = value[-_SHOWN:] if isinstance(value, str) and len(value) >= _LONG_ENOUGH else ""
    return f"••••{shown} (masked)"
