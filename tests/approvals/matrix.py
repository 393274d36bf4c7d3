"""Every address by what it takes and what it is about: rows and columns of the matrix that tests hold pages against."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from approvals.models import BulkAct, BulkResult, Gate
from durable.findings import Finding
from durable.models import Subject, VendorStatement
from tests import factories
from tests.approvals import stated

READERS = ("alice", "olga", "rita", "ada")
#: Who gets which status from a GET, by the name of the address. Whoever is not named here gets what `else` says.
LISTS = ("gates", "runs", "run-suggestions", "bulk-acts", "doubts", "compensation", "ledger", "ledger-suggestions",
         "refunds", "statements", "tools")  # fmt: skip
RUN_PAGES = ("run", "conversation", "log", "checkpoints", "way-back")
DOSSIERS = ("dossier-effect", "dossier-run", "dossier-subject")
OBJECTS = ("gate", "payload", "facts", "alike", *RUN_PAGES, "effect", "bulk-act", "statement", *DOSSIERS)
POSTS = ("decisions", "alike-decisions", "answers", "holds", "releases", "cancellations", "compensations", "retries",
         "skips", "forks", "state", "verdicts", "look-ups", "run-views", "run-view-deletions", "bulk-drafts",
         "bulk-starts", "bulk-stops", *(f"{one}-files" for one in DOSSIERS), "dossier-look-ups",
         "export-requests", "export-stops", "export-deletions", "export-downloads", "time-zone-choices",
         "retention-policies", "hold-orders", "hold-liftings", "erasure-looks", "erasure-requests",
         "erasure-withdrawals", "statement-requests", "statement-explanations")  # fmt: skip
#: Acts on no object.
BARE = ("run-views", "bulk-drafts", "export-requests", "time-zone-choices", "retention-policies", "hold-orders",
        "erasure-looks", "erasure-requests", "statement-requests")  # fmt: skip
#: Of these everybody has only their own, whatever rights they have.
OWN = ("export-stops", "export-deletions", "export-downloads")
OPEN = ("sign-in", "sign-out", "home", "healthz", "readyz")
#: Each with a matrix of its own: in test_{home,system,run_pages,commands,log_page,exports,zones,
#: erasure_pages,retention_page,polls}.py.
ELSEWHERE = ("behind", "system", "metrics", "differences", "fork", "acts", "exports", "export", "time-zone", "erasures",
             "erasure", "retention", "retention-change", "legal-holds", "counts")  # fmt: skip


def address(name: str, gate: Gate) -> str:
    """Where a page or an act of this name is, about what belongs to the gate; what it wants besides is made."""
    gates = ("gate", "payload", "facts", "alike", "alike-decisions", "decisions", "answers")
    of: dict[str, list[Any]] = {
        **{key: [gate.pk] for key in gates},
        **{key: [gate.effect.key] for key in ("effect", "verdicts", "look-ups")},
        **{key: [] for key in BARE},
        **{key: [1] for key in ("run-view-deletions", "hold-liftings", "erasure-withdrawals")},
    }
    if name in ("statement", "statement-explanations"):
        there = VendorStatement.objects.first() or stated.made(Finding.VENDOR_ALONE)
        of[name] = [there.pk]
    if name in ("bulk-act", "bulk-starts", "bulk-stops"):
        of[name] = [bulk_of(gate)]
    if name in ("export-stops", "export-deletions", "export-downloads"):
        of[name] = [factories.export_of("starter").pk]
    if name.startswith("dossier-"):
        subject = Subject.objects.filter(effect=gate.effect)[0].hash
        about = {"run": gate.effect.run.ref, "subject": subject}
        of |= {name: [about.get(name.split("-")[1], gate.effect.key)]}
    needs_ref = name in POSTS or name in RUN_PAGES
    return reverse(name, args=of.get(name, [gate.effect.run.ref] if needs_ref else []))


def bulk_of(gate: Gate) -> int:
    """A bulk act that is under way and about the gate's run."""
    run = gate.effect.run
    made, new = BulkAct.objects.get_or_create(
        act="holds", total=1, state="going", person=User.objects.get_or_create(username="starter")[0]
    )
    if new:
        BulkResult.objects.create(bulk=made, run=run)
    return made.pk
