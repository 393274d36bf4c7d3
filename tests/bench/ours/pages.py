"""Every page of the console on a database of a stated size; what open pages cost; and the inbox's first paint."""

from __future__ import annotations

import http.client
import os
import re
import statistics
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice

import psutil
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.models import Gate
from durable import indexing, settled
from durable.models import Run
from local import parts
from local.process import free_port, spawn, stop, wait_for
from tests.bench import kit, paging
from tests.bench.ours import asking, extremes, forgetting, stating
from tests.browser.people import chromium

_POLL = re.compile(rb'hx-get="([^"]+)" hx-trigger="every ([\d.]+)s"')
#: Waits by an observer: the page's own policy forbids to evaluate anything again and again.
_PAINT = """() => new Promise(done => new PerformanceObserver(
    list => list.getEntriesByName('first-contentful-paint').forEach(one => done(one.startTime))
).observe({type: 'paint', buffered: true}))"""


def measure() -> kit.Figures:
    """Fill the database, then measure in a process of its own: the one that fills it holds what it filled."""
    os.environ |= {"STATIC_HASHED": "false", "INTERLOCK_AGENTS": "durable.agents.refund_desk"}
    assert kit.phase("ours.pages", "fill") is not None
    os.environ["DATABASE_POOL"] = "8"  # as the web process has it
    found = kit.phase("ours.pages", "look")
    assert found is not None
    return found


def fill() -> kit.Figures:
    """Invent the history, and what it has none of. What was copied in is settled before anything is measured."""
    call_command("demodata", runs=paging.RUNS, effects=paging.EFFECTS, gates=paging.GATES, years=1.0)
    kit.done(Run.objects.count(), paging.RUNS, "runs")
    kit.done(Gate.objects.filter(state__in=("open", "asked back")).count(), paging.GATES, "gates that wait")
    extremes.make()
    forgetting.make()
    stating.make()
    while indexing.catch_up(60):
        pass
    with kit.connect() as admin:
        admin.execute("VACUUM ANALYZE")
    return {}


def look() -> kit.Figures:
    """Milliseconds and queries of each page, percent of a core for open pages, milliseconds to the first paint."""
    clients = {role: _client(name) for role, name in paging.ROLES.items()}
    asked = asking.questions()
    settled.load_pages()
    settled.settle()  # as the web process does
    found: kit.Figures = {}
    for name, question in asked.items():
        figures = _page(clients[question.who], question)
        found |= {f"{name}, {what}": value for what, value in figures.items()}
    with _served() as (port, server):
        first = {name.partition(":")[0]: question for name, question in reversed(asked.items())}
        found["open pages"] = _open(port, server, [question.addresses[0] for question in first.values()])
        found |= _painted(port)
    return found


def _client(who: str) -> Client:
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(User.objects.get(username=who))
    return client


def _page(client: Client, question: asking.Question) -> kit.Figures:
    """The server's own milliseconds for a page, templates included, and the most queries that it took.

    `busy` is processor time, of this process and of its session with the database.
    """
    took, queries = [], 0
    before = _worked()
    for address in islice(cycle(question.addresses), max(paging.TIMES, len(question.addresses))):
        took.append(kit.timed(partial(client.get, address)) * 1e3)
    busy = (_worked() - before) / len(took) * 1e3
    for address in question.addresses:
        with CaptureQueriesContext(connection) as asked:
            answer = client.get(address)
        kit.done(answer.status_code, 200, address)
        question.exactly.check(answer.content.decode(), address)
        queries = max(queries, len(asked))
    return {"p50": statistics.median(took), "p95": _p95(took), "busy": busy, "queries": queries}


def _worked() -> float:
    """Seconds of processor time of this process, and of the session with the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        session = psutil.Process(cursor.fetchone()[0]).cpu_times()
    return time.process_time() + session.user + session.system


def _p95(took: list[float]) -> float:
    return sorted(took)[min(int(len(took) * 0.95), len(took) - 1)]


@contextmanager
def _served() -> Iterator[tuple[int, psutil.Process]]:
    """The pages as `manage.py up` serves them."""
    port = free_port()
    env = {**os.environ, "PUBLIC_URL": f"http://127.0.0.1:{port}", "STATIC_HASHED": "false"}
    child = spawn(parts.web("127.0.0.1", port).argv, env=env, output=subprocess.DEVNULL)
    try:
        wait_for(
            lambda: _status(port, "/healthz") == 200,
            "the pages",
            alive=lambda: child.poll() is None,
            seconds=180,
        )
        yield port, psutil.Process(child.pid)
    finally:
        stop(child)


def _status(port: int, address: str, session: str = "") -> int:
    return _get(port, address, session)[0]


def _get(port: int, address: str, session: str = "", **headers: str) -> tuple[int, bytes]:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        line.request(
            "GET", address, headers={"Cookie": f"{settings.SESSION_COOKIE_NAME}={session}", **headers}
        )
        answer = line.getresponse()
        return answer.status, answer.read()
    except OSError:
        return 0, b""
    finally:
        line.close()


def _open(port: int, server: psutil.Process, addresses: list[str]) -> float:
    """Percent of a core, server and database together, for pages that stand open while nothing changes."""
    session = _client("sven").cookies[settings.SESSION_COOKIE_NAME].value
    polls: list[tuple[str, float]] = []
    for address in islice(cycle(addresses), paging.OPEN * 4):
        found = _POLL.search(_get(port, address, session)[1])
        if found and len(polls) < paging.OPEN:
            query = found[1].decode().replace("&amp;", "&")
            path = address.partition("?")[0]
            polls.append((query if query.startswith("/") else f"{path}{query}", float(found[2])))
    kit.done(len(polls), paging.OPEN, "open pages")
    for address, _ in polls:
        _get(port, address, session, **{"HX-Request": "true"})
    before, begin = _busy(server), kit.now()

    def stand_open(page: tuple[int, tuple[str, float]]) -> None:
        number, (address, every) = page
        due = begin + every * number / paging.OPEN
        while due < begin + paging.SECONDS:
            time.sleep(max(due - kit.now(), 0))
            _get(port, address, session, **{"HX-Request": "true"})
            due += every

    with ThreadPoolExecutor(paging.OPEN) as browsers:
        list(browsers.map(stand_open, enumerate(polls)))
    return (_busy(server) - before) / (kit.now() - begin) * 100


def _busy(server: psutil.Process) -> float:
    """Seconds of processor time of the pages' processes, and of PostgreSQL's."""
    database = psutil.Process(int(os.environ["BENCH_SERVER"]))
    seconds = 0.0
    for process in (server, *server.children(recursive=True), database, *database.children()):
        times = process.cpu_times()
        seconds += times.user + times.system
    ended = database.cpu_times()
    return seconds + ended.children_user + ended.children_system


def _painted(port: int) -> kit.Figures:
    """Milliseconds from asking for the inbox to its first paint; nothing where there is no Chromium."""
    path = chromium()
    if path is None:
        return {}
    from playwright.sync_api import sync_playwright

    session = _client("marta").cookies[settings.SESSION_COOKIE_NAME].value
    home, took = f"http://127.0.0.1:{port}", []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(3 if kit.QUICK else 9):
            context = browser.new_context(base_url=home)
            context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": home}])
            page = context.new_page()
            page.goto(reverse("gates"))
            took.append(float(page.evaluate(_PAINT)))
            context.close()
        browser.close()
    return {"inbox, first paint": statistics.median(took)}
