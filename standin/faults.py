"""Faults: which request goes wrong, and how. Rules live in memory; a restart of the stand-in forgets them.

A rule is asked for over the control API, or by the request itself: a metadata or reference value
`standin:drop`, `standin:slow:2`, `standin:status:503`, `standin:garbage:html` does it once for each key and
value. Kinds:

drop, reset     act, then close the connection without an answer (FIN, RST)
hang            don't act (`acts` true: act), hold the connection for `seconds`, close it
late            close without an answer now, act `seconds` later
slow            wait `seconds` with the key in flight, then act and answer
status          don't act, answer `status` with `code`, and Retry-After where `retry_after` is given
error           500: `acts` says whether it acted first, `saved` whether the key keeps the 500
garbage         act, then answer 200 with `form`: html, cut, empty, list, other_amount, other_currency
redirect        don't act, answer 307 to another path
trickle         act, then send the answer byte by byte over `seconds`
forget_key      prune the key of this request first, then go on as if nothing was
lag             a look-up does not see what is younger than `seconds`
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from standin.keys import Acted
from standin.spoilt import FORMS, error_answer
from standin.web import Answer, Refused, Request

KINDS = (
    "drop",
    "reset",
    "hang",
    "late",
    "slow",
    "status",
    "error",
    "garbage",
    "redirect",
    "trickle",
    "forget_key",
    "lag",
)
TRIGGER = "standin:"


@dataclass(slots=True, eq=False)  # two alike are two
class Fault:
    """One rule. `path` is a prefix, `contains` a part of any value sent; it skips `after` matches, then fires
    `times` times (0: for ever).
    """

    kind: str
    service: str | None = None
    method: str | None = None
    path: str | None = None
    contains: str | None = None
    times: int = 1
    after: int = 0
    seconds: float = 0.0
    status: int = 503
    code: str | None = None
    retry_after: float | None = None
    acts: bool = False
    saved: bool = False
    form: str = "html"

    def matches(self, service: str, request: Request) -> bool:
        """Whether this rule is about such a request to such a service; how often it was met is not asked."""
        return (
            self.service in (None, service)
            and self.method in (None, request.method)
            and request.path.startswith(self.path or "")
            and (self.contains is None or self.contains in f"{request.params} {request.key}")
        )


def fault_from(wanted: dict[str, Any]) -> Fault:
    """A rule from its JSON. Raises ValueError naming the bad field."""
    names = {one.name for one in fields(Fault)}
    for name in wanted:
        if name not in names:
            raise ValueError(f"{name}: no such field; use {', '.join(sorted(names))}")
    if wanted.get("kind") not in KINDS:
        raise ValueError(f"kind: must be one of {', '.join(KINDS)}")
    if wanted.get("form", "html") not in FORMS:
        raise ValueError(f"form: must be one of {', '.join(FORMS)}")
    return Fault(**wanted)


@dataclass(slots=True)
class Plan:
    """What is going to happen to one request; without a fault, nothing special. `over` is set by a reset and at the
    end: who waits then stops waiting, and does not act.
    """

    fault: Fault | None = None
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def kind(self) -> str:
        """The kind of the fault, or `none`."""
        return self.fault.kind if self.fault else "none"

    @property
    def saves(self) -> bool:
        """Whether the request's key keeps the answer."""
        return not (self.fault and self.kind == "error" and not self.fault.saved)

    def early(self, service: str) -> Answer | None:
        """The answer that is given instead of acting, if that is the plan."""
        fault = self.fault
        if fault is None:
            return None
        if fault.kind == "redirect":
            return Answer(307, "", {"Location": "/elsewhere"})
        if fault.kind != "status":
            return None
        headers = {} if fault.retry_after is None else {"Retry-After": f"{fault.retry_after:g}"}
        return error_answer(service, fault.status, fault.code, headers)

    def before(self, check: Callable[[], None]) -> Callable[[], None]:
        """The validation, and then the wait of a slow vendor; the key is in flight meanwhile."""

        def run() -> None:
            check()
            if self.fault and self.kind == "slow" and self.over.wait(self.fault.seconds):
                raise Refused(error_answer("", 503, "stopped", {}))

        return run

    def around(self, act: Callable[[], Acted], service: str = "payments") -> Callable[[], Acted]:
        """The act itself, or the 500 that stands before or after it."""
        fault = self.fault
        if fault is None or fault.kind != "error":
            return act
        failed = error_answer(service, 500, fault.code, {})

        def run() -> Acted:
            if not fault.acts:
                raise Refused(failed, saved=fault.saved)
            return failed, act()[1]

        return run


class Faults:
    """The rules in force, and which request meets which."""

    def __init__(self) -> None:
        self._rules: list[Fault] = []
        self._used: set[tuple[str, str | None]] = set()
        self._lock = threading.Lock()
        self._over = threading.Event()

    def add(self, fault: Fault) -> None:
        """Let a rule hold from now on, behind those that hold already."""
        with self._lock:
            self._rules.append(fault)

    def clear(self) -> None:
        """Take every rule away, and forget which requests have met one."""
        with self._lock:
            self._rules.clear()
            self._used.clear()

    def end_waits(self) -> None:
        """Let every request that waits go, without acting."""
        with self._lock:
            self._over.set()
            self._over = threading.Event()

    def plan(self, service: str, request: Request) -> Plan:
        """The first rule that fires for this request; each matching rule counts it down."""
        with self._lock:
            for rule in list(self._rules):
                if not rule.matches(service, request):
                    continue
                if rule.after > 0:
                    rule.after -= 1
                    continue
                if rule.times == 1:
                    self._rules.remove(rule)
                rule.times = max(rule.times - 1, 0)
                return Plan(rule, self._over)
            return Plan(self._asked(request), self._over)

    def _asked(self, request: Request) -> Fault | None:
        for text in request.texts() if request.method == "POST" else []:
            if not text.startswith(TRIGGER) or (text, request.key) in self._used:
                continue
            self._used.add((text, request.key))
            kind, _, detail = text.removeprefix(TRIGGER).partition(":")
            if kind not in KINDS:
                continue
            extra: dict[str, Any] = {"status": int(detail)} if kind == "status" else {}
            if kind == "garbage":
                extra = {"form": detail or "html"}
            elif detail and kind != "status":
                extra = {"seconds": float(detail)}
            return Fault(kind=kind, **extra)
        return None
