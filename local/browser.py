"""A person's browser, as far as the check needs one: cookies, links, and forms posted as the page wrote them."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from typing import Any


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


class _Noting(urllib.request.HTTPRedirectHandler):
    """Follows redirects, and notes where they led: the answer to a post is known even if the next page never comes."""

    def __init__(self) -> None:
        self.led: list[str] = []

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        self.led.append(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Browser:
    """One session. Redirects are followed as a browser does; no script runs. An answer is awaited for `patience`
    seconds.

    `led` holds the addresses to which the last request was redirected.
    """

    def __init__(self, address: str, patience: float = 20) -> None:
        self.address, self.patience = address, patience
        noting = _Noting()
        self.led = noting.led
        cookies = urllib.request.HTTPCookieProcessor(CookieJar())
        self._open = urllib.request.build_opener(cookies, noting).open

    def get(self, path: str) -> Page:
        """Follow a link."""
        return self._ask(urllib.parse.urljoin(self.address, path), None)

    def post(self, page: Page, form: Form, **typed: str) -> Page:
        """Send a form of `page`, with what a person typed into it."""
        body = urllib.parse.urlencode({**form.fields, **typed}).encode()
        return self._ask(urllib.parse.urljoin(page.url, form.action), body)

    def _ask(self, url: str, body: bytes | None) -> Page:
        request = urllib.request.Request(url, data=body, headers={"User-Agent": "interlock-check"})
        self.led.clear()
        try:
            with self._open(request, timeout=self.patience) as answer:
                where, status, text = answer.geturl(), answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            where, status, text = error.geturl() or url, error.code, error.read().decode()
        reader = _Reader()
        reader.feed(text)
        return Page(where, status, text, reader.forms, reader.links)
