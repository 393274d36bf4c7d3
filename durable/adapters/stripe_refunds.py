"""Refunds through Stripe, by the official client.

The vendor's facts (API v1): a key lives 24 hours at least and may be pruned after; status and body are saved
under it once execution began, 500s included. There is no get-by-key and no search of refunds: the key also
goes into the refund's `metadata["interlock_key"]`, and a look-up lists the refunds of the charge. Lists show
a refund at once, the newest first, up to 100 a page (docs.stripe.com/api/refunds/list: `created[gte]` and `[lt]`
in whole seconds, `limit`, `starting_after`). An amount is in Stripe's own minor unit (`stripe_money`). A charge belongs
to one account, so a refund of the right charge is in the right account; Stripe does not name the account in
its answer. A refund can be pending and fail later.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import stripe

from durable.adapters import stripe_money, wire
from durable.adapters.stripe_wire import client, meaning, plain
from durable.errors import CannotSay, InDoubt, VendorError, VendorRefused
from durable.vendor import Absent, Call, Candidates, LookupAnswer, Period, Receipt

KEY_LIFE = timedelta(hours=24)
KEY = "interlock_key"
RUN = "interlock_run"
REASONS = ("duplicate", "fraudulent", "requested_by_customer")
MOVES_NOTHING = ("failed", "canceled")
PAGE = 100
CLOCKS_DIFFER_BY = timedelta(minutes=10)
METADATA_LIMIT = 500


def refund(call: Call, charge: str, amount: Decimal, currency: str, reason: str) -> Receipt:
    """Give `amount` of `charge` (`ch_...`, or a payment intent `pi_...`) back.

    Stripe refunds in the charge's own currency and is not told ours: `charge_facts`, asked before the send,
    is what proves that they agree. `reason` goes to Stripe as such where it is one of its three, else into
    the metadata, its first 500 characters. The receipt is what Stripe says that it did, for the engine to
    compare.
    """
    params: Any = {
        **_of(charge),
        "amount": stripe_money.to_stripe(amount, currency),
        "metadata": {KEY: call.key, RUN: call.run},
    }
    if reason in REASONS:
        params["reason"] = reason
    elif reason:
        params["metadata"]["reason"] = reason[:METADATA_LIMIT]
    try:
        with wire.within(call.timeout):
            found = client().v1.refunds.create(params, {"idempotency_key": call.key})
    except stripe.StripeError as error:
        raise meaning(error) from error
    return _receipt(plain(found), charge)


def find_refund(call: Call) -> LookupAnswer:
    """Look for the refund that bears the call's key among all refunds of its charge.

    Several with the key are candidates, and so are refunds of the same amount that bear no key at all and
    were made since ten minutes before the first send. Raises CannotSay for every failure.
    """
    charge = str(call.args["charge"])
    try:
        with wire.within(call.timeout):
            refunds = [one for page in _pages(_of(charge), call.timeout) for one in page]
        ours = [one for one in refunds if _key(one) == call.key]
        found = [_receipt(one, charge) for one in ours or refunds if ours or _could_be(one, call)]
    except stripe.StripeError as error:
        raise CannotSay(f"the look-up of refunds failed: {meaning(error)}") from error
    except VendorError as error:
        raise CannotSay(f"the look-up of refunds failed: {error}") from error
    if len(ours) == 1:
        return found[0]
    return Candidates(tuple(found)) if found else Absent()


def refunds_of(period: Period) -> Iterator[Receipt]:
    """The vendor's account: every refund made in a period, ours or not, page by page. Raises CannotSay for every
    failure, also in the middle.

    Stripe counts whole seconds: a second of which a part lies in the period is in it.
    """
    created = {"gte": int(period.since.timestamp())}
    if period.until is not None:
        created["lt"] = math.ceil(period.until.timestamp())
    pages = _pages({"created": created}, period.timeout)
    try:
        for page in pages:
            yield from [_receipt(one, str(one.get("charge"))) for one in page]
    except stripe.StripeError as error:
        raise CannotSay(f"the list of refunds can't be had: {meaning(error)}") from error
    except VendorError as error:
        raise CannotSay(f"the list of refunds can't be had: {error}") from error


def charge_facts(charge: str | Call, timeout: float = 10.0) -> dict[str, str]:
    """What holds of a charge now: captured, refunded and refundable (decimals as text), currency, status,
    disputed.

    Takes the charge's id, or the call whose argument it is. Raises VendorRefused where there is no such
    charge, CannotSay for every other failure.
    """
    if isinstance(charge, Call):
        timeout, charge = charge.timeout, str(charge.args["charge"])
    try:
        with wire.within(timeout):
            return _facts(charge)
    except stripe.StripeError as error:
        told = meaning(error)
        if isinstance(told, VendorRefused):
            raise told from error
        raise CannotSay(f"the charge could not be read: {told}") from error
    except VendorError as error:
        raise CannotSay(f"the charge could not be read: {error}") from error


def _facts(charge: str) -> dict[str, str]:
    if charge.startswith("pi_"):
        charge = str(plain(client().v1.payment_intents.retrieve(charge)).get("latest_charge"))
    found = plain(client().v1.charges.retrieve(charge))
    captured, back, currency = (
        found.get("amount_captured"),
        found.get("amount_refunded"),
        found.get("currency"),
    )
    if (
        found.get("id") != charge
        or type(captured) is not int
        or type(back) is not int
        or not isinstance(currency, str)
    ):
        raise CannotSay("the answer is not the charge that was asked for")
    currency = currency.upper()
    sums = {"captured": captured, "refunded": back, "refundable": captured - back}
    amounts = {name: stripe_money.from_stripe(minor, currency) for name, minor in sums.items()}
    if None in amounts.values():
        raise CannotSay(f"the minor unit of {currency} isn't known")
    disputed = "yes" if found.get("disputed") else "no"
    words = {"charge": charge, "currency": currency, "status": str(found.get("status")), "disputed": disputed}
    return words | {name: str(value) for name, value in amounts.items()}


def _of(charge: str) -> dict[str, str]:
    return {"payment_intent" if charge.startswith("pi_") else "charge": charge}


def _pages(wanted: dict[str, Any], timeout: float) -> Iterator[list[dict[str, Any]]]:
    """Every refund that is `wanted`, newest first, in pages, each asked for within `timeout` seconds. A page that isn't
    one raises CannotSay, as does a list that goes round.
    """
    params: Any = {**wanted, "limit": PAGE}
    while True:
        with wire.within(
            timeout
        ):  # not around the `yield`: what is done with a page is none of the vendor's time
            page = plain(client().v1.refunds.list(params))
        data, more = page.get("data"), page.get("has_more")
        if (
            not isinstance(data, list)
            or not isinstance(more, bool)
            or not all(isinstance(one, dict) for one in data)
        ):
            raise CannotSay("the list of refunds can't be read")
        yield data
        if not more:
            return
        if not data or data[-1].get("id") in (None, params.get("starting_after")):
            raise CannotSay("the list of refunds says that there is more, and shows nothing")
        params = {**params, "starting_after": data[-1]["id"]}


def _key(found: dict[str, Any]) -> str | None:
    metadata = found.get("metadata")
    key = metadata.get(KEY) if isinstance(metadata, dict) else None
    return key if isinstance(key, str) else None


def _could_be(found: dict[str, Any], call: Call) -> bool:
    """Whether a refund could be the call's, had its metadata been lost."""
    made, since = found.get("created"), call.first_sent_at
    if (
        since is not None
        and isinstance(made, int)
        and datetime.fromtimestamp(made, UTC) < since - CLOCKS_DIFFER_BY
    ):
        return False
    currency = str(call.args["currency"])
    asked = stripe_money.to_stripe(Decimal(str(call.args["amount"])), currency)
    return _key(found) is None and found.get("amount") == asked and found.get("currency") == currency.lower()


def _receipt(found: dict[str, Any], asked: str) -> Receipt:
    """A refund as a receipt. One that failed or was cancelled moved 0. Raises InDoubt where this is no
    refund.
    """
    name, minor, currency, made = (found.get(one) for one in ("id", "amount", "currency", "created"))
    if found.get("object") != "refund" or not isinstance(name, str) or not isinstance(currency, str):
        raise InDoubt("Stripe answered 200 with something that is not a refund")
    if type(minor) is not int or type(made) is not int:
        raise InDoubt("Stripe answered 200 with a refund that can't be read")
    nothing = found.get("status") in MOVES_NOTHING
    target = found.get("payment_intent" if asked.startswith("pi_") else "charge")
    shown = ("status", "charge", "payment_intent", "balance_transaction", "reason", "failure_reason")
    return Receipt(
        id=name,
        amount=stripe_money.from_stripe(0 if nothing else minor, currency.upper()),
        currency=currency.upper(),
        target=target if isinstance(target, str) else None,
        key=_key(found),
        at=datetime.fromtimestamp(made, UTC),
        facts={one: found[one] for one in shown if found.get(one) is not None} | {"amount_minor": minor},
    )
