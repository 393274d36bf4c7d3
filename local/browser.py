"""A person's browser, as far as the check needs one: cookies, links, and forms posted as the page wrote them."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookiejar import CookieJar


@dataclass
class Form:
    """One form of a page: where it goes, and the fields that it brings along."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)


class _Reader(HTMLParser):
    """Collects the POST forms with their hidden or filled-in inputs, and every link."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[Form] = []
        self.links: list[str] = []
        self._open: Form | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "form":
            self._open = Form(found.get("action", ""))
            if found.get("method", "get").lower() == "post":
                self.forms.append(self._open)
        elif tag == "input" and self._open is not None and "name" in found:
            self._open.fields[found["name"]] = found.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None


@dataclass(frozen=True)
class Page:
    """What came back."""

    url: str
    status: int
    text: str
    forms: list[Form]
    links: list[str]


class Browser:
    """One session. Redirects are followed as a browser does; no script runs."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._open = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar())).open

    def get(self, path: str) -> Page:
        """Follow a link."""
        return self._ask(urllib.parse.urljoin(self.address, path), None)

    def post(self, page: Page, form: Form, **typed: str) -> Page:
        """Send a form of `page`, with what a person typed into it."""
        body = urllib.parse.urlencode({**form.fields, **typed}).encode()
        return self._ask(urllib.parse.urljoin(page.url, form.action), body)

    def _ask(self, url: str, body: bytes | None) -> Page:
        request = urllib.request.Request(url, data=body, headers={"User-Agent": "interlock-check"})
        try:
            with self._open(request, timeout=20) as answer:
                where, status, text = answer.geturl(), answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            where, status, text = error.geturl() or url, error.code, error.read().decode()
        reader = _Reader()
        reader.feed(text)
        return Page(where, status, text, reader.forms, reader.links)
