"""What is asked of each page on the database that is there, as whom, and what the page must then say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.urls import reverse

from approvals.models import BulkAct, Gate
from durable.models import Effect, Run
from tests.bench import kit, paging
from tests.bench.ours import exactly, extremes, forgetting, searching, stating
from tests.bench.ours.exactly import Exactly


@dataclass(frozen=True)
class Question:
    """One question: addresses that take turns, who asks, and what a person must be able to count on."""

    addresses: Sequence[str]
    who: str = "operator"
    exactly: Exactly = field(default_factory=Exactly)


def questions() -> dict[str, Question]:
    """Everything that `paging.PAGES` names."""
    found: dict[str, Question] = {}
    for page, asked in {
        **_overviews(), "runs": _runs(), "ledger": _ledger(), **_objects(), **_of_runs(), **_others(), **_audits(),
    }.items():  # fmt: skip
        found |= {f"{page}: {what}": question for what, question in asked.items()}
    assert sorted(found) == sorted(paging.PAGES), sorted(set(found) ^ set(paging.PAGES))
    return {name: found[name] for name in paging.PAGES}


Asked = dict[str, Question]


def _at(page: str, *args: object, **query: object) -> str:
    asked = urlencode({name: value for name, value in query.items() if value not in (None, "")})
    return reverse(page, args=args) + (f"?{asked}" if asked else "")


def _overviews() -> dict[str, Asked]:
    home = {role: Question([_at("home")], role) for role in paging.ROLES}
    home["7 days"] = Question([_at("home", period="7d")])
    behind: Asked = {}
    for what in paging.ASKED["behind"]:
        name, _, period = what.partition(", ")
        query = {
            "period": "7d" if period == "7 days" else "24h",
            "currency": "EUR" if name == "moved" else "",
        }
        must = exactly.behind(name, period or "24 hours")
        behind[what] = Question([_at("behind", name, **query)], exactly=must)
    inbox = {role: Question([_at("gates")], role, exactly.gates()) for role in paging.ROLES}
    first = Gate.objects.filter(state="open").order_by("decide_by", "id")[min(paging.GATES // 2, 100)]
    later = f"0_{first.decide_by.isoformat()}_{first.pk}"
    inbox["later"] = Question([_at("gates", after=later)], "reviewer", exactly.gates())
    return {"home": home, "behind": behind, "gates": inbox}


def _names() -> dict[str, str]:
    """What the braces of a query stand for."""
    effect = Effect.objects.filter(state="applied", tool="refund").exclude(receipt_id="").order_by("-pk")[7]
    return {
        "order": str(effect.run.input["order"]), "customer": extremes.CUSTOMER, "receipt": effect.receipt_id,
        "key": effect.key, "ref": effect.run.ref,
    }  # fmt: skip


def _runs() -> Asked:
    newest = Run.objects.order_by("-pk").values_list("pk", flat=True)
    middle = newest[newest.count() // 2]
    every = exactly.runs("")
    found = {
        "all": Question([_at("runs")], exactly=every),
        "second page": Question([_at("runs", after=newest[49])], exactly=every),
        "in the middle": Question([_at("runs", after=middle)], exactly=every),
        "back from the middle": Question([_at("runs", before=middle)], exactly=every),
    }
    for typed in paging.RUN_QUERIES:
        query = typed.format(**_names())
        found[typed] = Question([_at("runs", q=query)], exactly=exactly.runs(query))
    return found


def _ledger() -> Asked:
    newest = Effect.objects.order_by("-pk").values_list("pk", flat=True)
    every = exactly.ledger()
    found = {
        "all": Question([_at("ledger")], "auditor", every),
        "second page": Question([_at("ledger", after=newest[49])], "auditor", every),
        "in the middle": Question([_at("ledger", after=newest[newest.count() // 2])], "auditor", every),
    }
    for state in paging.EFFECT_STATES:
        found[state] = Question([_at("ledger", state=state)], "auditor", exactly.ledger(state=state))
    for typed in paging.SEARCHES:
        query = typed.format(**searching.names())
        found[typed] = Question([searching.address(query)], "auditor", searching.must(query))
    for typed in (one for one in paging.ASKED["ledger"] if one not in found):
        text, _, state = typed.format(**_names()).partition(", ")
        found[typed] = Question([_at("ledger", q=text, state=state)], "auditor", exactly.ledger(text, state))
    return found


def _audits() -> dict[str, Asked]:
    """Dossiers, refunds, statements, exports, erasures, the time zone, and what completes a search."""
    pages = {"refunds": searching.refunds(), **stating.addresses(), **searching.dossiers(_long())}
    found = {
        page: {what: Question(addresses, "auditor") for what, addresses in asked.items()}
        for page, asked in pages.items()
    }
    found |= {
        "exports": {"all": Question([_at("exports")], "auditor")},
        "export": {
            "all": Question([_at("export", of="ledger")], "auditor"),
            "log": Question([_at("export", of="log")], "auditor"),
        },
        "time-zone": {"all": Question([_at("time-zone")])},
        **{
            page: {what: Question(addresses, "admin") for what, addresses in asked.items()}
            for page, asked in forgetting.addresses().items()
        },
    }
    typed = {what: "" if what == "nothing typed" else what for what in paging.ASKED["ledger-suggestions"]}
    found["ledger-suggestions"] = {
        what: Question([_at("ledger-suggestions", q=text)], "auditor") for what, text in typed.items()
    }
    found["retention"] = {
        "policy": Question([_at("retention")], "auditor"),
        "what is due": Question([_at("retention", look="due")], "auditor"),
    }
    found["retention-change"] = {"other times": Question([_at("retention-change", checkpoints=1)], "admin")}
    found["legal-holds"] = {"all": Question([_at("legal-holds")], "auditor")}
    return found


def _objects() -> dict[str, Asked]:
    waiting = Gate.objects.filter(state="open")
    about = exactly.hashed(extremes.CUSTOMER)
    many = waiting.filter(effect__subjects__hash__in=about).order_by("-pk").values_list("pk", flat=True)
    gates = {
        "waiting": waiting.order_by("decide_by"),
        "last in the queue": waiting.exclude(effect__effect_class="irreversible").order_by("-decide_by"),
        "decided": Gate.objects.filter(state__in=("approved", "rejected")).order_by("pk"),
        "of the customer with many": many,
    }
    alike = waiting.filter(effect__tool="refund").order_by("decide_by").values_list("pk", flat=True)
    effects = Effect.objects.order_by("-pk")
    shown = {
        "newest": effects,
        "oldest": effects.reverse(),
        "in doubt": effects.filter(state="in doubt"),
        "of the long run": effects.filter(run=_long()),
        "undone": Effect.objects.filter(undos__state="applied"),
    }
    return {
        "gate": {what: Question(_each("gate", found, "pk"), "reviewer") for what, found in gates.items()},
        "alike": {
            "waiting": Question([_at("alike", number) for number in alike[: paging.OBJECTS]], "reviewer")
        },
        "effect": {what: Question(_each("effect", found, "key")) for what, found in shown.items()},
    }


def _each(page: str, found: QuerySet[Any, Any], name: str) -> list[str]:
    addresses = [_at(page, one) for one in found.values_list(name, flat=True)[: paging.OBJECTS]]
    if not addresses:
        raise SystemExit(f"there is nothing to show on {page}; nothing is reported")
    return addresses


def _long() -> Run:
    return Run.objects.order_by("-version", "pk")[0]


def _of_runs() -> dict[str, Asked]:
    newest, long = Run.objects.order_by("-pk"), _long()
    kept = newest.filter(checkpoints__version=2).filter(version__gte=2)
    some = {
        "newest": newest,
        "oldest": newest.reverse(),
        "long": newest.filter(pk=long.pk),
        "in doubt": newest.filter(waits__state="open", waits__name="in doubt"),
        "partly compensated": newest.filter(state="partly compensated"),
        "of a dozen effects": newest.filter(agent="StockDesk"),
    }
    points, branch = long.version // 2, long.message_count // 2
    rows = {
        "conversation": count_of("durable_message", f"branch_id = {long.branch_id}"),
        "log": count_of("durable_ledgerevent", f"run_ref = '{long.ref}'"),
        "checkpoints": count_of("durable_checkpoint", f"run_id = {long.pk}"),
    }
    found = {"run": {what: Question(_each("run", runs, "ref")) for what, runs in some.items()}}
    for page, cursor in (("conversation", branch), ("log", points), ("checkpoints", points)):
        found[page] = {
            "newest": Question(_each(page, newest, "ref")),
            "long": Question([_at(page, long.ref)], exactly=rows[page]),
            "long, in the middle": Question([_at(page, long.ref, after=cursor)], exactly=rows[page]),
        }
    found["conversation"]["one message"] = Question([_at("conversation", long.ref, no=branch)])
    for page in ("differences", "fork"):
        found[page] = {
            "newest": Question(_each(page, kept, "ref")),
            "long": Question([_at(page, long.ref)]),
        }
    found["way-back"] = {
        what: Question(_each("way-back", some[what], "ref")) for what in paging.ASKED["way-back"]
    }
    return found


def count_of(table: str, where: str) -> Exactly:
    """A page's total that counts the rows of a table, all of them, however many."""
    return Exactly(exactly.count(table, where), capped=False)


def _others() -> dict[str, Asked]:
    bulk = BulkAct.objects.get()
    results = exactly.count("approvals_bulkresult", f"bulk_id = {bulk.pk}")
    last = bulk.results.order_by("-pk").values_list("pk", flat=True)[min(49, bulk.total - 1)]
    doubt = Exactly(exactly.count("durable_effect", "state = 'in doubt'"))
    middle = Run.objects.filter(state="partly compensated").order_by("pk").values_list("pk", flat=True)
    ways = {
        state: Question([_at("compensation", state=state)], exactly=exactly.compensation(state))
        for state in ("partly compensated", "compensated", "compensating")
    }
    cursor = middle[middle.count() // 2]
    ways["in the middle"] = Question(
        [_at("compensation", after=cursor)], exactly=exactly.compensation("partly compensated")
    )
    return {
        "compensation": ways,
        "doubts": {
            "all": Question([_at("doubts")], exactly=doubt),
            "second page": Question([_next_doubts()]),
        },
        "run-suggestions": {
            "nothing typed": Question([_at("run-suggestions")]),
            "agent:": Question([_at("run-suggestions", q="agent:")]),
            "status:f": Question([_at("run-suggestions", q="status:f")]),
        },
        "bulk-acts": {
            "all": Question([_at("bulk-acts")], exactly=Exactly(exactly.count("approvals_bulkact")))
        },
        "bulk-act": {
            "all": Question([_at("bulk-act", bulk.pk)], exactly=Exactly(results)),
            "refused": Question(
                [_at("bulk-act", bulk.pk, outcome="refused")],
                exactly=Exactly(f"{results} AND outcome = 'refused'"),
            ),
            "second page": Question([_at("bulk-act", bulk.pk, after=last)], exactly=Exactly(results)),
        },
        "tools": {
            "all": Question([_at("tools")]),
            "irreversible": Question([_at("tools", **{"class": "irreversible"})]),
        },
        "system": {"all": Question([_at("system")], "admin")},
        "acts": {
            "all": Question([_at("acts")], "auditor"),
            "refused": Question([_at("acts", q="only:refused")], "auditor"),
        },
        "metrics": {"all": Question([_at("metrics")], "admin")},
    }


def _next_doubts() -> str:
    """The second page of the desk, or what stands in its place where there are too few: everything before now."""
    with kit.connect() as admin:
        since = kit.one(
            admin, "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY first_sent_at) FROM durable_effect"
            " WHERE state = 'in doubt'",
        )  # fmt: skip
    return _at("doubts", after=f"1_{since.isoformat()}_0_0")
