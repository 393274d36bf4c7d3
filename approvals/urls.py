"""The console's addresses. Every page is a noun; what changes something is a POST to a noun of its own."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from approvals.views import (
    bulk,
    commands,
    compensation,
    decisions,
    doubts,
    effects,
    gates,
    home,
    ledger,
    runs,
    session,
    system,
    tools,
    verdicts,
)

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.home, name="home"),
    path("today/<str:name>/", home.behind, name="behind"),
    path("sign-in/", session.SignIn.as_view(), name="sign-in"),
    path("sign-out/", session.SignOut.as_view(), name="sign-out"),
    path("gates/", gates.gates, name="gates"),
    path("gates/<int:gate_id>/", gates.gate, name="gate"),
    path("gates/<int:gate_id>/facts/", gates.facts, name="facts"),
    path("gates/<int:gate_id>/alike/", bulk.alike, name="alike"),
    path("gates/<int:gate_id>/alike/decisions/", bulk.decide_alike, name="alike-decisions"),
    path("gates/<int:gate_id>/decisions/", decisions.decide, name="decisions"),
    path("gates/<int:gate_id>/answers/", decisions.answer_back, name="answers"),
    path("runs/", runs.runs, name="runs"),
    path("runs/<str:ref>/", runs.run, name="run"),
    path("runs/<str:ref>/holds/", commands.holds, name="holds"),
    path("runs/<str:ref>/releases/", commands.releases, name="releases"),
    path("runs/<str:ref>/cancellations/", commands.cancellations, name="cancellations"),
    path("runs/<str:ref>/compensations/", commands.compensations, name="compensations"),
    path("runs/<str:ref>/compensation/", compensation.compensation, name="way-back"),
    path("runs/<str:ref>/retries/", commands.retries, name="retries"),
    path("runs/<str:ref>/skips/", commands.skips, name="skips"),
    path("runs/<str:ref>/forks/", commands.forks, name="forks"),
    path("runs/<str:ref>/state/", commands.state, name="state"),
    path("compensation/", compensation.compensations, name="compensation"),
    path("doubts/", doubts.doubts, name="doubts"),
    path("ledger/", ledger.ledger, name="ledger"),
    path("effects/<str:key>/", effects.effect, name="effect"),
    path("effects/<str:key>/verdicts/", verdicts.verdict, name="verdicts"),
    path("effects/<str:key>/look-ups/", verdicts.look_ups, name="look-ups"),
    path("tools/", tools.tools, name="tools"),
    path("system/", system.system, name="system"),
    path("metrics", system.prometheus, name="metrics"),
]
