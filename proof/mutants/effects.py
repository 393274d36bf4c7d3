"""How the guards of effects, of the way back and of money are broken."""

from __future__ import annotations

from proof.mutants import suites
from proof.mutants.mutant import Mutant, mutant

_BEFORE_THE_INTENT = """    from durable.vendor import Call
    ask.send(Call(key=ledger.key_of(run.ref, ask.place), run=run.ref, timeout=5, args=ask.proposal.args))
    recorded = ledger.record("""
#: The same condition about the purse as it was when the statement began: whoever waited for its row does not see why.
_LIMIT_AS_IT_WAS = (
    "      AND (SELECT q.limit_minor >= q.reserved_minor + q.spent_minor + %(amount)s::bigint\n"
    "           FROM durable_purse q WHERE q.id = p.id)\n"
)

EFFECTS: tuple[Mutant, ...] = (
    mutant(
        "KEY_FROM_PLACE",
        "durable/ledger/places.py",
        'key = f"{run_ref}:{place.step}"',
        'key = f"{run_ref}:{place.step}:{id(place)}"',
        suites.KEYS,
    ),
    mutant(
        "WRITE_AHEAD", "durable/protocol.py", "    recorded = ledger.record(", _BEFORE_THE_INTENT, suites.WIRE
    ),
    mutant("NO_BLIND_REPEAT", "durable/protocol.py", "if effect.open_sends:", "if False:", suites.ROWS),
    mutant(
        "KEY_HONOURED",
        "durable/reconcile.py",
        "if facts.idempotent_for is None or",
        "if facts.idempotent_for is None:\n        return True\n    if",
        suites.ROWS,
    ),
    mutant(
        "HALF_LIFE",
        "durable/reconcile.py",
        "facts.idempotent_for * SAFE_SHARE",
        "facts.idempotent_for",
        suites.ROWS,
    ),
    mutant(
        "SAVED_ERROR",
        "durable/reconcile.py",
        "is None or effect.error_saved or",
        "is None or",
        suites.ROWS,
        suites.JUDGED,
    ),
    mutant(
        "BODY_BOUND",
        "durable/protocol.py",
        "if effect.sends == 0 and effect.state != EffectState.APPLIED:",
        "if True:",
        suites.KEYS,
    ),
    mutant(
        "FENCE",
        "durable/transitions/fence.py",
        "r.id = %(run)s AND r.attempt = %(attempt)s AND r.nonce = %(nonce)s AND r.lease_until > clock_timestamp()",
        "r.id = %(run)s",
        suites.CLAIMS,
        suites.LATE,
    ),
    mutant(
        "FENCED_CHECKPOINT",
        "durable/transitions/hot.py",
        "AND r.attempt = %(attempt)s AND r.nonce = %(nonce)s AND r.version = %(version)s\n"
        "      AND r.state = 'running' AND r.lease_until > clock_timestamp()",
        "AND %(attempt)s > 0 AND %(nonce)s <> '' AND %(version)s >= 0",
        suites.CLAIMS,
        suites.CHECKPOINTS,
    ),
    mutant("SEND_BY", "durable/sending.py", "if left > 0:", "if True:", suites.WIRE),
    mutant(
        "SHORT_SEND",
        "durable/ledger/release.py",
        "min(ask.facts.send_within, claim.lease * _SHARE_OF_LEASE)",
        "ask.facts.send_within",
        suites.WIRE,
    ),
    mutant(
        "REFUSED_WHILE_OPEN",
        "durable/ledger/outcome.py",
        "if effect.open_sends > 1:",
        "if False:",
        suites.ANSWERS,
    ),
    mutant(
        "MATCH",
        "durable/reconcile.py",
        'if receipt.amount is not None and _minor(receipt, proposal.currency or "") != proposal.amount_minor:',
        "if False:",
        suites.ROWS,
        suites.ANSWERS,
    ),
    mutant(
        "RECEIPT_ONCE",
        "durable/ledger/statements.py",
        "receipt_id = %(receipt)s,",
        "receipt_id = %(receipt)s || '-' || right(u.key, 40),",
        suites.ROWS,
    ),
    mutant(
        "QUIET",
        "durable/reconcile.py",
        "+ facts.in_flight + facts.lookup_lag",
        "+ facts.lookup_lag",
        suites.VERDICTS,
        suites.JUDGED,
    ),
    mutant(
        "LAG",
        "durable/reconcile.py",
        "+ facts.in_flight + facts.lookup_lag",
        "+ facts.in_flight",
        suites.VERDICTS,
        suites.JUDGED,
    ),
    mutant("LINK_GATED", "durable/ledger/gating.py", "(_linked(older), ", "(", suites.VERDICTS),
)

WAY_BACK: tuple[Mutant, ...] = (
    mutant(
        "UNDO_APPLIED",
        "durable/compensation.py",
        "filter(run=run, state=EffectState.APPLIED.value, undo_of=None)",
        "filter(run=run, undo_of=None)",
        suites.WAY_BACK,
    ),
    mutant(
        "UNDO_REVERSE",
        "durable/compensation.py",
        'order_by("-applied_no")',
        'order_by("applied_no")',
        suites.WAY_BACK,
    ),
    mutant(
        "UNDO_KEY",
        "durable/ledger/places.py",
        'f"{undone.key}:undo"',
        'f"{undone.key}:undo{id(undone)}"',
        suites.WAY_BACK,
    ),
    mutant(
        "UNDO_WAITS",
        "durable/compensation.py",
        "    except EffectFailed as error:",
        '    except Suspension as error:\n        return Undone(effect, "refused", str(error))\n'
        "    except EffectFailed as error:",
        suites.WAY_BACK,
    ),
)

MONEY: tuple[Mutant, ...] = (
    mutant(
        "RESERVE",
        "durable/ledger/statements.py",
        "SET reserved_minor = p.reserved_minor + %(amount)s::bigint FROM clear",
        "SET reserved_minor = p.reserved_minor FROM clear",
        suites.MONEY,
    ),
    mutant(
        "RESERVE_AT_ONCE",
        "durable/ledger/statements.py",
        "      AND p.limit_minor >= p.reserved_minor + p.spent_minor + %(amount)s::bigint\n",
        _LIMIT_AS_IT_WAS,
        suites.MONEY,
        suites.BUDGETS,
    ),
    mutant(
        "DOUBT_KEEPS",
        "durable/ledger/outcome.py",
        "        move_effect(effect, EffectState.IN_DOUBT)\n",
        "        move_effect(effect, EffectState.IN_DOUBT)\n        give_back(run, effect)\n",
        suites.MONEY,
    ),
    mutant(
        "ONCE_PER",
        "durable/ledger/gating.py",
        "_class(ask), _once(run, ask))\n",
        "_class(ask))\n",
        suites.ONCE,
    ),
    mutant(
        "ONCE_QUEUE",
        "durable/ledger/record.py",
        "            gating.serialise(run, once_per)\n",
        "",
        suites.ONCE,
    ),
)
