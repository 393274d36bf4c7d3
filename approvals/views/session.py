"""Signing in and out."""

from __future__ import annotations

import math
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from approvals import signins, throttle
from approvals.views import kept
from durable import acts

_GONE = (
    f"What you had typed before was kept for {kept.KEPT.total_seconds() / 3600:.0f} hours, and is gone."
    " Nothing was done with it."
)


class SignInForm(AuthenticationForm):
    """Says what was wrong in the words of its own page, and never which of the two it was."""

    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": "This name and this password do not go together. Capital letters count in both.",
    }


class SignIn(LoginView):
    """The one page for strangers. What was typed for an act before it is offered again after it."""

    template_name = "registration/login.html"
    authentication_form = SignInForm

    def get(self, request: HttpRequest, *args: Any, **more: Any) -> HttpResponse:
        """Show the form, or lead on whoever has signed in already."""
        return self._inside(request) or super().get(request, *args, **more)

    def post(self, request: HttpRequest, *args: Any, **more: Any) -> HttpResponse:
        """Let somebody in. Whoever has signed in meanwhile, in another tab, gets what was kept as well."""
        if (inside := self._inside(request)) is not None:
            return inside
        name = throttle.meant(request.POST.get("username", ""))
        pause = throttle.take(request, name)
        if pause is not None:
            return self._too_many(name, pause)
        with acts.naming(acts.SIGN_IN):  # a right password may be stored anew, by a better hash
            return super().post(request, *args, **more)

    def _too_many(self, name: str, pause: timedelta) -> HttpResponse:
        """429 in words, whether or not the password was right: nobody has looked at it."""
        signins.refused(self.request, name, "too many tries")
        form = SignInForm(self.request, initial={"username": name})
        context = self.get_context_data(form=form, pause=pause)
        answer = self.render_to_response(context, status=HTTPStatus.TOO_MANY_REQUESTS)
        answer["Retry-After"] = str(math.ceil(pause.total_seconds()))
        return answer

    def _inside(self, request: HttpRequest) -> HttpResponse | None:
        if not request.user.is_authenticated:
            return None
        if typed := self._kept():
            return kept.offered(request, typed, f"You are signed in as {request.user.get_username()}.")
        return HttpResponseRedirect(self.get_success_url())

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Let the person in, and show them what they had typed, or lead them where they meant to go."""
        with transaction.atomic():  # nobody is in whose sign-in the log does not hold
            login(self.request, form.get_user())
            self.request.session.save()
            throttle.succeeded(self.request, form.get_user().get_username())
        typed = self._kept()
        if typed is None:
            if self.request.POST.get(kept.FIELD):
                messages.warning(self.request, _GONE)
            answer: HttpResponse = HttpResponseRedirect(self.get_success_url())
        else:
            answer = kept.offered(self.request, typed, "You are signed in.")
        throttle.remember(answer, form.get_user())
        return answer

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        """After a wrong password the text is still there."""
        return {**super().get_context_data(**more), "kept": self.request.POST.get(kept.FIELD, "")}

    def _kept(self) -> kept.Typed | None:
        text = self.request.POST.get(kept.FIELD, "")
        return kept.unpacked(text) if text else None


class SignOut(LogoutView):
    """By POST alone: no link signs anybody out."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, *args: Any, **more: Any) -> HttpResponse:
        """End the session, and log it."""
        with transaction.atomic():
            return super().post(request, *args, **more)
