"""Signing in and out."""

from __future__ import annotations

from django.contrib.auth.views import LoginView, LogoutView


class SignIn(LoginView):
    """The one page for strangers."""

    template_name = "registration/login.html"
    redirect_authenticated_user = True


class SignOut(LogoutView):
    """By POST alone: no link signs anybody out."""

    http_method_names = ["post", "options"]
