"""The console's pages: what is asked of each, how often, and on how large a database."""

from __future__ import annotations

import os

from tests.bench import kit

#: Runs of the database; five effects to a run, and some gates. BENCH_RUNS=1000000 is what the figures are stated for.
RUNS = int(os.environ.get("BENCH_RUNS", "100" if kit.QUICK else "5000"))
EFFECTS, GATES = RUNS * 5, min(200, RUNS // 10)
#: Each question so often, and so many runs, gates and effects that take turns as the one that is looked at.
TIMES, OBJECTS = (3, 2) if kit.QUICK else (int(os.environ.get("BENCH_TIMES", "100")), 20)
#: Live pages that stand open, for so many seconds.
OPEN, SECONDS = (5, 4) if kit.QUICK else (50, 60)
#: What one run has at most, and one customer: checkpoints, messages and effects of the run, effects about the customer.
LONG, MANY = (60, 60) if kit.QUICK else (5_000, 5_000)

ROLES = {"reviewer": "marta", "operator": "sven", "auditor": "rita", "admin": "ada"}
#: Queries of the runs list, as people type them; `{…}` is filled in from the database.
RUN_QUERIES = (
    *(
        f"status:{status}"
        for status in ("stuck", "waiting", "in-doubt", "expiring", "held", "suspended", "completed", "failed")
    ),
    "status:failed,stuck,waiting",
    "status:completed,failed,cancelled",
    "agent:RefundDesk",
    "agent:r",
    "agent:RefundDesk status:failed",
    "agent:RefundDesk status:stuck",
    "agent:ReturnsDesk status:cancelled",
    "older-than:1h",
    "older-than:180d",
    "older-than:180d status:failed",
    "older-than:4h agent:RefundDesk status:suspended",
    "older-than:180d agent:StockDesk status:completed",
    "older-than:520w",
    "subject:{order}",
    "subject:{customer}",
    "subject:{customer} status:completed older-than:1d",
    "subject:{customer} agent:RefundDesk",
    "ref:{ref}",
    "ref:run-",
    "ref:run- status:failed agent:RefundDesk",
    "{order}",
    "{customer}",
    "{ref}",
    "run-",
    "refund",
    "nobody has this",
)
EFFECT_STATES = ("gated", "pending", "in doubt", "applied", "failed", "rejected", "expired", "withdrawn")
LEDGER_QUERIES = (
    "{order}",
    "{customer}",
    "{receipt}",
    "{key}",
    "{ref}",
    "run-",
    "nobody has this",
)
#: Searches in the ledger, as people type them.
SEARCHES = (
    "customer:{customer}",
    "order:{order}",
    "customer:{customer} tool:refund state:applied",
    "customer:*{part}*",
    "order:*{tail}",
    "{part}",
    "receipt:{receipt}",
    "key:{key}",
    "amount:{amount}",
    "amount:100..200 currency:EUR",
    "amount:>=400 tool:refund",
    "amount:<3 state:rejected",
    "vendor:stripe currency:KWD",
    "vendor:mail state:rejected",
    "tool:refund state:failed",
    "tool:reserve_replacement state:undone",
    "agent:ReturnsDesk",
    "agent:ClaimsDesk currency:JPY",
    "agent:RefundDesk state:applied,failed currency:EUR",
    "reason:fraudulent",
    "decided-by:marta",
    "decided-by:jonas state:rejected from:{month} to:{month}",
    "decided-by:none tool:send_email",
    "from:{month} to:{month}",
    "from:{day} to:{day} tool:refund",
    "to:{month} agent:StockDesk",
)
#: What is asked of each page, by the name of its address.
ASKED: dict[str, tuple[str, ...]] = {
    "home": (*ROLES, "7 days"),
    "behind": (
        "in-flight",
        "stuck",
        "late",
        "sleeping",
        "ended, 24 hours",
        "ended, 7 days",
        "failed, 7 days",
        "moved, 24 hours",
        "moved, 7 days",
        "expiring",
        "irreversible",
        "asked-back",
        "decided, 7 days",
    ),
    "gates": (*ROLES, "later"),
    "gate": ("waiting", "last in the queue", "decided", "of the customer with many"),
    "alike": ("waiting",),
    "runs": ("all", "second page", "in the middle", "back from the middle", *RUN_QUERIES),
    "run-suggestions": ("nothing typed", "agent:", "status:f"),
    "bulk-acts": ("all",),
    "bulk-act": ("all", "refused", "second page"),
    "run": ("newest", "oldest", "long", "in doubt", "partly compensated", "of a dozen effects"),
    "conversation": ("newest", "long", "long, in the middle", "one message"),
    "log": ("newest", "long", "long, in the middle"),
    "checkpoints": ("newest", "long", "long, in the middle"),
    "differences": ("newest", "long"),
    "fork": ("newest", "long"),
    "way-back": ("newest", "long", "partly compensated"),
    "compensation": ("partly compensated", "compensated", "compensating", "in the middle"),
    "doubts": ("all", "second page"),
    "ledger": (
        "all",
        "second page",
        "in the middle",
        *EFFECT_STATES,
        *LEDGER_QUERIES,
        "{customer}, applied",
        "{customer}, failed",
        *SEARCHES,
    ),
    "ledger-suggestions": ("nothing typed", "tool:", "mar"),
    "refunds": ("30 days", "90 days", "a year", "all months"),
    "statements": ("all", "second page"),
    "statement": ("clean", "many differences", "second page"),
    "dossier-effect": ("newest", "oldest", "in doubt"),
    "dossier-run": ("newest", "of a dozen effects", "long"),
    "dossier-subject": ("newest", "of the customer with many"),
    "effect": ("newest", "oldest", "in doubt", "of the long run", "undone"),
    "tools": ("all", "irreversible"),
    "system": ("all",),
    "acts": ("all", "refused"),
    "retention": ("policy", "what is due"),
    "retention-change": ("other times",),
    "legal-holds": ("all",),
    "exports": ("all",),
    "export": ("all", "log"),
    "erasures": ("all",),
    "erasure": ("done",),
    "time-zone": ("all",),
    "metrics": ("all",),
}
#: Addresses that are no page to look at: health, signing in and out, and the facts of a gate, which ask its vendor.
ELSEWHERE = ("counts", "healthz", "readyz", "sign-in", "sign-out", "facts", "payload")
PAGES = tuple(f"{page}: {what}" for page, asked in ASKED.items() for what in asked)
FIGURES = ("p50", "p95", "busy", "queries")
#: What a page may take, and ask.
MOST_MS, MOST_QUERIES = 100, 15
