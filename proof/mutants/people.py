"""How the guards of stops, gates and forks are broken."""

from __future__ import annotations

from proof.mutants import suites
from proof.mutants.mutant import Edit, Mutant, mutant

STOPS: tuple[Mutant, ...] = (
    mutant(
        "CANCEL",
        "durable/ledger/release.py",
        "if run.state in ENDING and ask.undo_of is None:",
        "if False:",
        suites.CANCEL,
        suites.RELEASE,
    ),
    Mutant(
        "HOLD",
        (
            Edit("durable/ledger/release.py", "    if run.held:\n", "    if False:\n"),
            Edit(
                "durable/ledger/statements.py",
                "AND r.state = %(wanted)s AND NOT r.held",
                "AND r.state = %(wanted)s",
            ),
        ),
        (suites.RELEASE,),
    ),
    mutant(
        "INTEND", "durable/ledger/statements.py", "AND r.state = %(wanted)s AND NOT", "AND NOT", suites.CANCEL
    ),
    mutant(
        "NO_END_OVER_PENDING",
        "durable/endings.py",
        "for effect in _open_effects(run)",
        "for effect in ()",
        suites.CANCEL,
    ),
    mutant("READ_AGAIN", "durable/suspending.py", "reason.refresh_from_db()", "pass", suites.ANSWERED),
)

GATES: tuple[Mutant, ...] = (
    Mutant(
        "ACT_ON_YES",
        (
            Edit("durable/protocol.py", "EffectState.GATED | EffectState.IN_DOUBT", "EffectState.IN_DOUBT"),
            Edit(
                "durable/ledger/release.py",
                "(EffectState.PENDING, EffectState.APPROVED)",
                "(EffectState.PENDING, EffectState.APPROVED, EffectState.GATED)",
            ),
        ),
        (suites.ROWS,),
    ),
    mutant(
        "SHOWN",
        "approvals/outcomes.py",
        "if (digest, round) == (gate.digest, gate.round) ==",
        "if (effect.digest, effect.round) ==",
        suites.DECISIONS,
    ),
    Mutant(
        "ONE_DECISION",
        (
            Edit(
                "durable/answers.py",
                "    wait = waits.get_open(run, wait_id)\n",
                "    wait = Wait.objects.get(pk=wait_id)\n",
            ),
            Edit("durable/answers.py", "    if effect.state != EffectState.GATED:\n", "    if False:\n"),
            Edit(
                "approvals/decisions.py",
                "if locked is None or GateState(gate.state) not in LIVE:",
                "if locked is None:",
            ),
        ),
        (suites.RACES,),
    ),
    mutant(
        "FOUR_EYES",
        "approvals/access.py",
        "had = stake(person, gate) if verdict is Verdict.APPROVE else asked",
        "had = asked",
        suites.DECISIONS,
    ),
    mutant(
        "DECIDE_BY",
        "approvals/decisions.py",
        "    if db_now() > gate.decide_by:\n        if answer.verdict",
        "    if False:\n        if answer.verdict",
        suites.RACES,
    ),
    mutant(
        "ACT_BY", "approvals/gatekeeper.py", "or db_now() > gate.act_by", "", suites.RELEASE, suites.KEEPER
    ),
    mutant(
        "RIGHTS",
        "approvals/gatekeeper.py",
        "if Capability.DECIDE not in access.capabilities(decision.person):",
        "if False:",
        suites.RELEASE,
        suites.KEEPER,
    ),
    mutant(
        "NEW_ROUND",
        "durable/rounds.py",
        "    close(run, effect, by=actor)\n    columns",
        "    columns",
        suites.KEYS,
    ),
    mutant(
        "USED_ONCE",
        "approvals/gatekeeper.py",
        "filter(effect=effect, round=effect.round).first()",
        "filter(effect__run_id=effect.run_id).first()",
        suites.RELEASE,
    ),
)

FORKS: tuple[Mutant, ...] = (
    mutant(
        "FORK_BLOCKED",
        "durable/steering.py",
        "    if open_effect is not None:\n",
        "    if False:\n",
        suites.FORKS,
    ),
    mutant(
        "FORK_INHERITS",
        "durable/protocol.py",
        "if run.parent_id is None or ask.undo_of is not None:\n        return None\n    found",
        "if True:\n        return None\n    found",
        suites.FORKS,
    ),
    mutant("FORK_GATED", "durable/ledger/gating.py", "_kinship(run, ask), ", "", suites.FORKS),
    mutant(
        "RESTORED",
        "durable/ledger/record.py",
        "doubted = forgotten(run)",
        "doubted = {}",
        suites.RESTORE,
    ),
)
