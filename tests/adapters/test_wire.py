"""The wire: connections are kept, never shared with a forked child, and never go through a proxy on loopback."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest

from durable.adapters import wire
from durable.adapters.stripe_refunds import refund
from durable.errors import VendorRefused
from tests.adapters.subjects import call
from tests.vendors import ROOT, Vendor

FORKING = """
import os, sys
from django.conf import settings
settings.configure(STRIPE_API_KEY="sk_test", STRIPE_API_BASE="", SHOP_API_BASE=sys.argv[1])
from durable.adapters.orders import fetch_order
fetch_order("8812"); fetch_order("8812")
child = os.fork()
fetch_order("8812")
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
fetch_order("8812")
"""


def test_a_connection_serves_many_calls(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    for key in ("a", "b", "c"):
        refund(call({}, key=key), charge, Decimal(1), "EUR", "")
    assert len({one["peer"] for one in vendor.requests("POST", "/v1/refunds")}) == 1


def test_a_connection_that_the_vendor_dropped_is_replaced_before_sending(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    refund(call({}, key="a"), charge, Decimal(1), "EUR", "")
    vendor.stop()
    vendor.start()
    refund(call({}, key="b"), charge, Decimal(1), "EUR", "")
    assert vendor.moved() == [Decimal(1), Decimal(1)]


def test_a_forked_child_opens_its_own_connection(vendor: Vendor) -> None:
    vendor.seed_order("8812")
    subprocess.run([sys.executable, "-c", FORKING, vendor.url], cwd=ROOT, check=True, timeout=30)
    peers = [one["peer"] for one in vendor.requests("GET", "/orders")]
    assert len(peers) == 5
    assert peers.count(peers[0]) == 4 and len(set(peers)) == 2


def test_loopback_is_never_asked_through_a_proxy(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert refund(call({}), vendor.seed_charge(), Decimal(1), "EUR", "").amount == Decimal(1)


def test_a_vendor_elsewhere_is_asked_through_the_proxy(
    vendor: Vendor, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    charge = vendor.seed_charge()
    monkeypatch.setenv("http_proxy", vendor.url)
    settings.STRIPE_API_BASE = "http://vendor.invalid"
    # The stand-in takes the absolute addresses that a proxy is sent.
    refund(call({}), charge, Decimal(1), "EUR", "")
    assert vendor.moved() == [Decimal(1)]


def test_a_header_that_can_not_be_sent_is_refused_before_anything_leaves(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    for key in ("line\nbreak", "schlüssel"):
        with pytest.raises(VendorRefused):
            refund(call({}, key=key), charge, Decimal(1), "EUR", "")
    assert vendor.requests() == []


def test_an_answer_in_pieces_that_comes_in_time_is_read(vendor: Vendor) -> None:
    vendor.fault("trickle", path="/v1/refunds", seconds=0.2)
    assert refund(call({}), vendor.seed_charge(), Decimal(1), "EUR", "").amount == Decimal(1)


def test_retry_after_is_read_in_seconds_only() -> None:
    texts = ("7", "0.5", "-3", "Wed, 21 Oct 2026 07:28:00 GMT", "", None)
    assert [wire.seconds_in(text) for text in texts] == [7.0, 0.5, 0.0, None, None, None]
