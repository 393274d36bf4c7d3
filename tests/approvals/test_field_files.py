"""Cases from the field about files and moments: no secret in a file, no cell that computes, deadlines as enforced."""

from __future__ import annotations

import base64
import csv
import io
import re
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from approvals.exports import cells, orders, work
from approvals.models import Export, Gate
from durable.models import Effect, Subject
from tests import factories
from tests.approvals.answering import APPROVE, answer
from tests.approvals.conftest import SignIn
from tests.approvals.test_exports import HOSTILE, content, folder, made, nobody_told, table
from tests.approvals.test_who_sees_what import IBAN

__all__ = ["folder", "nobody_told"]

pytestmark = pytest.mark.django_db(transaction=True)


def texts(path: Path) -> str:
    """All that a file says, unpacked where it is an archive."""
    if path.suffix != ".zip":
        return path.read_text(encoding="utf-8-sig")
    with zipfile.ZipFile(path) as archive:
        return "\n".join(archive.read(name).decode() for name in archive.namelist())


def test_no_file_that_somebody_takes_holds_a_secret_or_what_lets_one_decide(
    folder: Path, settings: Any, sign_in: SignIn
) -> None:
    settings.METRICS_TOKEN, settings.STRIPE_API_KEY = "token-of-the-metrics", "sk_live_of_the_shop"
    alice, rita = factories.person("alice"), factories.person("rita")
    gate = factories.gate(amount="140", iban=IBAN)
    answer(alice, gate, APPROVE, "it fits")
    factories.gate(iban=IBAN)
    client = sign_in(rita)
    client.get(reverse("gates"))
    hidden = {
        IBAN, IBAN[4:],
        settings.METRICS_TOKEN, settings.STRIPE_API_KEY, settings.SECRET_KEY, client.session.session_key,
        client.cookies["csrftoken"].value, *User.objects.values_list("password", flat=True),
        *(base64.b64encode(key).decode() for key in (settings.INTERLOCK_SEAL_KEY, settings.INTERLOCK_HASH_KEY)),
        *(key.hex() for key in (settings.INTERLOCK_SEAL_KEY, settings.INTERLOCK_HASH_KEY)),
    }  # fmt: skip
    subject = Subject.objects.filter(effect=gate.effect_id).values_list("hash", flat=True)[0]
    wanted = [
        ("ledger", ""),
        ("log", ""),
        ("run", gate.effect.run.ref),
        ("effect", gate.effect.key),
        ("subject", subject),
    ]
    for of, query in wanted:
        for form in ("csv", "jsonl", "bundle"):
            export = orders.order(rita, of, query, form)
            work.carry_on(export.pk)
            export = Export.objects.get(pk=export.pk)
            assert export.state == "made", (of, form, export.words)
            said = texts(folder / export.file) + str(export.manifest)
            assert len(said) > 200 and [one for one in hidden if str(one) in said] == [], (of, form)
    dossiers = {"effect": gate.effect.key, "run": gate.effect.run.ref, "subject": subject}
    for name, of in dossiers.items():
        said = client.post(reverse(f"dossier-{name}-files", args=[of])).content.decode()
        assert [one for one in hidden if str(one) in said] == [], name
        assert "2051 (masked)" in said or IBAN[-4:] in said


def test_a_file_full_of_hostile_texts_computes_nothing_and_is_read_back_whole(folder: Path) -> None:
    rita = factories.person("rita")
    for number, text in enumerate(HOSTILE):
        effect = factories.gate(order=f"{number}").effect
        Effect.objects.filter(pk=effect.pk).update(failure=text, vendor=text, reason=text)
    data = content(folder, made(rita))
    rows = table(data)
    assert [row["failure"] for row in rows] == [row["vendor"] for row in rows] == list(HOSTILE)
    assert [row["key"] for row in rows] == list(Effect.objects.order_by("pk").values_list("key", flat=True))
    raw = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    assert all(len(row) == len(raw[0]) for row in raw)
    for name in ("failure", "vendor", "reason"):
        for text, row in zip(HOSTILE, raw[1:], strict=True):
            cell = row[raw[0].index(name)]
            assert cells.BACK.sub(r"\1", cell) == text
            assert not any(re.match(r"\s*[=+\-@]", piece) for piece in re.split(r"[;|\t\r\n]", cell)), cell


#: When it had to be decided by (UTC), and what people in Berlin read; worked out by hand from the rules of the zone.
DEADLINES = {
    # 24 hours after 18:00 of the day before the clocks go back, and forward.
    "2025-10-26T16:00:00+00:00": "26 Oct 2025, 17:00 CET",
    "2025-03-30T17:00:00+00:00": "30 Mar 2025, 19:00 CEST",
    # 02:30 comes twice.
    "2025-10-26T00:30:00+00:00": "26 Oct 2025, 02:30 CEST",
    "2025-10-26T01:30:00+00:00": "26 Oct 2025, 02:30 CET",
}


def test_a_deadline_around_a_clock_change_reads_as_the_moment_that_is_enforced(sign_in: SignIn) -> None:
    alice = sign_in(factories.person("alice"))
    assert alice.post(reverse("time-zone-choices"), {"zone": "Europe/Berlin"}).status_code == 303
    gate = factories.gate()
    for moment, shown in DEADLINES.items():
        Gate.objects.filter(pk=gate.pk).update(decide_by=datetime.fromisoformat(moment))
        for _ in range(2):  # looking at it changes nothing
            page = alice.get(reverse("gate", args=[gate.pk])).content.decode()
            assert f'<time datetime="{moment}"' in page and f">{shown}</time>" in page
        assert Gate.objects.get(pk=gate.pk).decide_by == datetime.fromisoformat(moment)
