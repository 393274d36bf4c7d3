"""The vendor stand-in for tests: a real process, and a helper that speaks to it.

A `conftest.py` takes the fixtures by `from tests.vendors import vendor, vendor_process`. `vendor` is reset for each
test and Django's settings point at it; a process that a test starts is pointed at it with `vendor.environment()`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import requests
import stripe

ROOT = Path(__file__).resolve().parent.parent
API_KEY = "sk_test_standin"
DECIMALS = {"JPY": 0, "MGA": 0, "KWD": 3}
PATIENCE = 10.0


class Vendor:
    """A running stand-in. `url` is its address; `book()` is the only truth about what moved."""

    def __init__(self, book: Path) -> None:
        self.path = book
        self.url = ""
        self.port = 0
        self._process: subprocess.Popen[str] | None = None
        self._sessions: list[requests.Session] = []
        self._http = self._session()

    # The process.

    def start(self) -> None:
        """Start on the port that it had before, else on a free one."""
        command = [sys.executable, "-m", "standin", "--port", str(self.port), "--book", str(self.path)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("listening "), f"the stand-in did not start: {line!r}"
        self.url = line.split()[1]
        self.port = int(self.url.rpartition(":")[2])

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        return self._end(subprocess.Popen.terminate)

    def kill(self) -> int:
        """SIGKILL; the exit code."""
        return self._end(subprocess.Popen.kill)

    def _end(self, how: Callable[[subprocess.Popen[str]], None]) -> int:
        assert self._process is not None and self._process.stdout is not None
        how(self._process)
        code = self._process.wait(timeout=PATIENCE)
        self._process.stdout.close()
        self.hang_up()
        return code

    def _session(self) -> requests.Session:
        session = requests.Session()
        session.trust_env = False
        self._sessions.append(session)
        return session

    def hang_up(self) -> None:
        """Close every connection to it, the clients' too; they open new ones when they need them."""
        for session in self._sessions:
            session.close()
        del self._sessions[1:]

    def environment(self) -> dict[str, str]:
        """The settings that point a process of the product at this vendor."""
        return {"STRIPE_API_KEY": API_KEY, "STRIPE_API_BASE": self.url, "SHOP_API_BASE": self.url}

    # What it saw and did.

    def book(self, service: str | None = None) -> list[dict[str, Any]]:
        """What really moved, in order; `amount` is text in the currency's major unit."""
        moved = self._control("GET", "book")
        return [one for one in moved if service in (None, one["service"])]

    def moved(self) -> list[Decimal]:
        """The amounts that the payments service really moved, in order."""
        return [Decimal(one["amount"]) for one in self.book("payments")]

    def requests(self, method: str | None = None, path: str = "") -> list[dict[str, Any]]:
        """Every request received but seeds and control, in order: method, path, key, at, peer, fault, status."""
        seeds = ("/v1/charges", "/v1/payment_intents", "/orders")
        seen = [
            one
            for one in self._control("GET", "requests")
            if (one["method"], one["path"]) not in _posts(seeds)
        ]
        return [one for one in seen if method in (None, one["method"]) and one["path"].startswith(path)]

    def until(self, ready: Callable[[], bool]) -> None:
        """Wait for what the vendor does in its own time; fails after ten seconds."""
        end = time.monotonic() + PATIENCE
        while not ready():
            assert time.monotonic() < end, "the vendor did not get there in time"
            time.sleep(0.01)

    # What it shall do.

    def fault(self, kind: str, **fields: Any) -> None:
        """Add a rule: `fault("drop", method="POST", path="/v1/refunds")`; see `standin.faults`."""
        self._control("POST", "faults", {"kind": kind, **fields})

    def clear_faults(self) -> None:
        self._control("DELETE", "faults")

    def modes(self, **wanted: Any) -> None:
        """Change standing switches: `modes(keys="ignore")`; see `standin.modes`."""
        self._control("POST", "modes", wanted)

    def passes(self, seconds: float) -> None:
        """Let the vendor's time go by; what was on its way has arrived."""
        self._control("POST", "pass", {"seconds": seconds})

    def forget(self, key: str) -> None:
        """Prune one idempotency key now."""
        self._control("POST", "forget", {"key": key})

    def fails(self, refund: str) -> None:
        """Let a refund fail after all: its money comes back."""
        self._control("POST", "fail", {"refund": refund})

    def reset(self) -> None:
        self.hang_up()
        self._control("POST", "reset")

    def seed_charge(self, amount: str = "100.00", currency: str = "EUR", **metadata: str) -> str:
        """A captured charge; its id."""
        return str(self._seed("charges", amount, currency, metadata)["id"])

    def seed_intent(self, amount: str = "100.00", currency: str = "EUR", **metadata: str) -> str:
        """A succeeded payment intent; its id."""
        return str(self._seed("payment_intents", amount, currency, metadata)["id"])

    def _seed(self, kind: str, amount: str, currency: str, metadata: dict[str, str]) -> Any:
        minor = int(Decimal(amount).scaleb(DECIMALS.get(currency, 2)))
        form = {"amount": minor, "currency": currency.lower()}
        form |= {f"metadata[{name}]": value for name, value in metadata.items()}
        headers = {"Authorization": f"Bearer {API_KEY}"}
        return _ok(self._http.post(f"{self.url}/v1/{kind}", data=form, headers=headers, timeout=PATIENCE))

    def seed_order(
        self, order: str = "8812", amount: str = "100.00", currency: str = "EUR", **fields: Any
    ) -> str:
        """An order, with a charge of its own unless `charge` is given; its id."""
        body = {
            "id": order,
            "customer": "cus_8812",
            "email": "ada@example.org",
            "charge": fields.get("charge") or self.seed_charge(amount, currency),
            "amount": amount,
            "currency": currency,
            "items": [{"sku": "MUG-BLUE", "quantity": 1}],
            "status": "delivered",
            **fields,
        }
        return str(_ok(self._http.post(f"{self.url}/orders", json=body, timeout=PATIENCE))["id"])

    def client(self, timeout: float = PATIENCE) -> stripe.StripeClient:
        """The official client, its own retries off."""
        session = self._session()
        return stripe.StripeClient(
            API_KEY,
            base_addresses={"api": self.url},
            max_network_retries=0,
            http_client=stripe.RequestsClient(timeout=timeout, session=session),
        )

    def _control(self, method: str, what: str, body: dict[str, Any] | None = None) -> Any:
        return _ok(self._http.request(method, f"{self.url}/_control/{what}", json=body, timeout=PATIENCE))


def _posts(paths: tuple[str, ...]) -> list[tuple[str, str]]:
    return [("POST", path) for path in paths]


def _ok(reply: requests.Response) -> Any:
    assert reply.ok, f"the stand-in answered {reply.status_code}: {reply.text[:300]}"
    return reply.json()


@pytest.fixture(scope="session")
def vendor_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vendor]:
    """One stand-in for the whole session."""
    running = Vendor(tmp_path_factory.mktemp("vendor") / "book.jsonl")
    running.start()
    yield running
    running.stop()


@pytest.fixture
def vendor(vendor_process: Vendor, settings: Any) -> Iterator[Vendor]:
    """The session's stand-in, emptied, with Django's settings pointing at it."""
    vendor_process.reset()
    for name, value in vendor_process.environment().items():
        setattr(settings, name, value)
    yield vendor_process
    vendor_process.hang_up()
