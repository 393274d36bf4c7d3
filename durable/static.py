"""Static files, given out before Django is asked: none costs a middleware, and no page costs a look for a file.

Which there are, and how long a browser may keep them, is as the settings say (`SERVESTATIC_*`, `STORAGES`): hashed and
compressed by `collectstatic`, or as they lie.
"""

from __future__ import annotations

from typing import Any
from wsgiref.headers import Headers

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from servestatic.middleware import ServeStaticMiddleware
from servestatic.wsgi import ServeStatic

#: A file is no page: opened by itself, it loads and runs nothing.
_HEADERS = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'"}


async def _nobody(request: HttpRequest) -> HttpResponse:
    """Takes the place of Django in a middleware that is used for its list of files alone: there is nothing else."""
    return HttpResponseNotFound()


class _Files(ServeStaticMiddleware):  # type: ignore[misc]  # as all of servestatic, untyped to mypy
    """The files that the settings name, each with its headers."""

    def __init__(self) -> None:
        super().__init__(_nobody)

    def add_cache_headers(self, headers: Headers, path: str, url: str) -> None:
        """The middleware's own, and those that keep a file from being taken for a page."""
        super().add_cache_headers(headers, path, url)
        for name, value in _HEADERS.items():
            headers[name] = value

    def find_file(self, url: str) -> Any:
        """None at once for whatever is no address of a file."""
        return super().find_file(url) if url.startswith(settings.STATIC_URL) else None


class Static(ServeStatic):  # type: ignore[misc]  # as all of servestatic, untyped to mypy
    """WSGI: static files, and `application` for all else."""

    def __init__(self, application: Any) -> None:
        self._found = _Files()
        super().__init__(application, autorefresh=self._found.autorefresh)
        self.files = self._found.files

    def find_file(self, url: str) -> Any:
        """A file as it lies, where files are not collected."""
        return self._found.find_file(url)
