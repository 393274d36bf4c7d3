"""People before their browsers: two reviewers who want the same gates, and an operator who steers and settles.

All that they do goes through the product's own pages and forms. What they were told is noted down: a redirect after a
post is an acknowledgement, a 409 a race that was lost.
"""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable
from decimal import Decimal
from urllib.error import URLError
from urllib.parse import unquote

from approvals.people import DEMO_PASSWORD
from local.browser import Browser, Form, Page
from proof.chaos.notes import Notes

#: What a browser may meet while things break.
AWAY = (URLError, OSError, ValueError)
#: Seconds for which a page is waited for.
_PATIENCE = 8.0


class Person:
    """Somebody who is signed in, or signs in again. `turn` does one thing and may meet whatever is `AWAY`."""

    pace = 0.4

    def __init__(self, name: str, address: str, notes: Notes, chance: random.Random) -> None:
        self.name, self.notes, self.chance = name, notes, chance
        self.browser = Browser(address, _PATIENCE)

    def work(self, over: threading.Event) -> None:
        """Take turns until `over` is set."""
        while not over.wait(self.pace * self.chance.uniform(0.5, 1.5)):
            try:
                self.turn()
            except AWAY:
                over.wait(0.3)

    def turn(self) -> None:
        raise NotImplementedError

    def see(self, path: str) -> Page:
        """Return a page, signing in where need be. Raises URLError where it can't be had."""
        page = self.browser.get(path)
        if "/sign-in/" in page.url and page.forms:
            self.browser.post(page, page.forms[0], username=self.name, password=DEMO_PASSWORD)
            page = self.browser.get(path)
        if page.status != 200 or "/sign-in/" in page.url:
            raise URLError(f"{path} is answered with {page.status}")
        return page

    def tell(self, page: Page, form: Form, kind: str, typed: dict[str, str], **facts: object) -> bool:
        """Post a form, and note what came of it. Returns whether it was acknowledged.

        What is answered with a page was refused; what is not answered at all may or may not have been recorded.
        """
        status = 0
        try:
            status = self.browser.post(page, form, **typed).status
        finally:
            done = bool(self.browser.led) and "/sign-in/" not in self.browser.led[0]
            if done:
                self.notes.add(kind, person=self.name, **facts)
            else:
                self.notes.add("refused", what=kind, status=status, person=self.name, **facts)
        return done


class Reviewer(Person):
    """Decides what waits: mostly yes, sometimes no, less money, or a question back. The inbox is everybody's, so some
    lose.
    """

    def turn(self) -> None:
        links = dict.fromkeys(x for x in self.see("/gates/").links if re.fullmatch(r"/gates/\d+/", x))
        if not links:
            return
        # The oldest few: so that two reviewers meet.
        link = self.chance.choice(list(links)[:3])
        page = self.see(link)
        forms = {form.fields["verdict"]: form for form in page.forms if "verdict" in form.fields}
        verdict = self._verdict(forms)
        if verdict:
            gate = int(link.strip("/").rpartition("/")[2])
            form = forms[verdict]
            typed = self._typed(verdict, form)
            threading.Event().wait(self.chance.uniform(0, 0.3))  # reads it
            digest = form.fields["digest"]
            self.tell(page, form, "decision", typed, gate=gate, verdict=verdict, digest=digest)

    def _verdict(self, forms: dict[str, Form]) -> str:
        wish = self.chance.choices(("approve", "reject", "edit", "ask back"), (68, 10, 15, 7))[0]
        amount = forms["edit"].fields.get("arg-amount") if "edit" in forms else None
        if wish == "edit" and (amount is None or Decimal(amount) <= 100):
            wish = "approve"
        if wish == "approve" and "approve" not in forms:
            return ""  # had a hand in it: for somebody else
        return wish if wish in forms else ""

    def _typed(self, verdict: str, form: Form) -> dict[str, str]:
        if verdict == "edit":
            return {"arg-amount": f"{Decimal(form.fields['arg-amount']) - 10:.2f}", "reason": "less will do"}
        # A yes needs a reason too, where the same may have been done already.
        return {"reason": "as agreed" if verdict == "approve" else "did the goods come back?"}


def command(person: Person, ref: str, noun: str, **typed: str) -> bool:
    """Give a run a command through its page. False where the page does not offer it."""
    page = person.see(f"/runs/{ref}/")
    form = next((form for form in page.forms if form.action == f"/runs/{ref}/{noun}/"), None)
    typed = {"reason": "as the day brings it", **typed}
    return form is not None and person.tell(page, form, "command", typed, ref=ref, command=noun)


def verdict(person: Person, key: str, find: Callable[[str], str | None]) -> bool:
    """Say what became of an effect, honestly: the book is read only when it can't change any more.

    `find` returns the vendor's own id of what moved under a key, None where nothing did.
    """
    page = person.see(f"/effects/{key}/")
    forms = [form for form in page.forms if unquote(form.action) == f"/effects/{key}/verdicts/"]
    closing = next((form for form in forms if form.fields.get("verdict") == "acknowledge"), None)
    if closing is not None:
        typed = {"reason": "looked at the book"}
        return person.tell(page, closing, "verdict", typed, key=key, verdict="acknowledge")
    if not forms:
        return False
    may_deny = not re.search(r'value="did not"[^>]*\bdisabled\b', page.text)
    found = find(key)
    if found is None and not may_deny:
        return False
    said = "did not" if found is None else "happened"
    typed = {"verdict": said, "receipt": found or "", "reason": "as the vendor's book has it"}
    return person.tell(page, forms[0], "verdict", typed, key=key, verdict=said)
