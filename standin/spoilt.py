"""Answers that are not what they should be: errors on demand, and a 200 that lies."""

from __future__ import annotations

from standin.keys import error
from standin.web import Answer

FORMS = ("html", "cut", "empty", "list", "other_amount", "other_currency")


def error_answer(service: str, status: int, code: str | None, headers: dict[str, str]) -> Answer:
    """An error as `service` words it."""
    message = f"The stand-in was asked to answer {status}."
    if service != "payments":
        return Answer(status, {"error": code or f"status_{status}", "message": message}, headers)
    kind = {402: "card_error", 409: "idempotency_error"}.get(status, "api_error" if status >= 500 else "")
    code = code or {409: "idempotency_key_in_use", 429: "rate_limit", 402: "card_declined"}.get(status)
    answer = error(status, kind or "invalid_request_error", message, code)
    return Answer(answer.status, answer.body, headers)


def spoil(form: str, answer: Answer) -> Answer:
    """A 200 that is not what it should be."""
    if form == "html":
        return Answer(200, "<html><body>Bad gateway</body></html>", {"Content-Type": "text/html"})
    if form in ("cut", "empty", "list"):
        text = answer.encoded().decode()
        return Answer(200, {"cut": text[: len(text) // 2], "empty": "", "list": "[]"}[form])
    if not isinstance(answer.body, dict):
        return answer
    other = {"amount": answer.body.get("amount", 0) + 1} if form == "other_amount" else {"currency": "xts"}
    return Answer(answer.status, {**answer.body, **other}, answer.headers)
