"""The application's role may make temporary tables. None that bears a name of ours is read by a guard, nor reached by
what runs with the owner's rights.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection, transaction

from durable import holds
from durable.models import Chain, LedgerEvent, Run
from durable.roots import builder
from durable.roots.cutting import cut
from tests.engine import held
from tests.engine.rooted import aged, begun, tell, url

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run() -> Run:
    """A run with events of five years ago."""
    run = begun()
    tell(run, 3)
    aged(2_000)
    return run


@pytest.fixture
def hand() -> Iterator[psycopg.Connection]:
    """Somebody who can do whatever the application can."""
    with psycopg.connect(url("application"), autocommit=True) as opened:
        yield opened


#: A trigger's function of one's own, which says as whom it is called.
_WHO = """
CREATE TEMPORARY TABLE called_as (who text);
GRANT ALL ON called_as TO PUBLIC;
CREATE FUNCTION pg_temp.tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO pg_temp.called_as SELECT current_user;
    RETURN COALESCE(NEW, OLD);
END $$;
"""


def trap(hand: psycopg.Connection, table: str, when: str) -> None:
    """Put a table of one's own before one of ours, with a trigger that notes as whom it is called."""
    hand.execute(_WHO.encode())
    hand.execute(f"CREATE TEMPORARY TABLE {table} (LIKE public.{table} INCLUDING DEFAULTS)".encode())
    hand.execute(f"GRANT ALL ON pg_temp.{table} TO PUBLIC".encode())
    hand.execute(
        f"CREATE TRIGGER trap BEFORE {when} ON pg_temp.{table} FOR EACH ROW EXECUTE FUNCTION pg_temp.tell()".encode()
    )


def called_as(hand: psycopg.Connection) -> list[str]:
    return [who for (who,) in hand.execute("SELECT who FROM pg_temp.called_as").fetchall()]


def test_nothing_of_the_applications_own_is_run_as_the_owner_when_events_go(
    run: Run, hand: psycopg.Connection
) -> None:
    trap(hand, "durable_ledgerevent", "DELETE")
    hand.execute("INSERT INTO pg_temp.durable_ledgerevent SELECT * FROM public.durable_ledgerevent")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="signed cut"):
        hand.execute("SELECT durable_let_events_go(ARRAY(SELECT id FROM public.durable_ledgerevent))")
    assert called_as(hand) == []


def test_nothing_of_the_applications_own_is_run_as_the_owner_when_an_event_is_chained(
    run: Run, hand: psycopg.Connection
) -> None:
    trap(hand, "durable_chain", "UPDATE")
    hand.execute("INSERT INTO pg_temp.durable_chain SELECT * FROM public.durable_chain")
    before = Chain.objects.get(run_ref=run.ref).no
    hand.execute(
        "INSERT INTO public.durable_ledgerevent (run_ref, kind, effect_key, actor, body)"
        " VALUES (%s, 'held', '', 'x', '{}')",
        [run.ref],
    )
    assert called_as(hand) == []
    assert Chain.objects.get(run_ref=run.ref).no == before + 1
    held.check_chains()


def test_no_cut_of_ones_own_lets_events_go(run: Run, hand: psycopg.Connection) -> None:
    hand.execute("CREATE TEMPORARY TABLE durable_root (number bigint, statement text)")
    hand.execute(
        "INSERT INTO pg_temp.durable_root VALUES (1, E'interlock-cut-1\\nnumber: 1\\ngone: 999999999\\n')"
    )
    hand.execute("CREATE TEMPORARY TABLE durable_acceptedcut (number bigint, gone bigint)")
    hand.execute("INSERT INTO pg_temp.durable_acceptedcut VALUES (1, 999999999)")
    hand.execute("GRANT ALL ON pg_temp.durable_root, pg_temp.durable_acceptedcut TO PUBLIC")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="signed cut"):
        hand.execute("SELECT durable_let_events_go(ARRAY(SELECT id FROM public.durable_ledgerevent))")
    assert LedgerEvent.objects.filter(run_ref=run.ref).exists()


def test_no_empty_list_of_ones_own_passes_a_legal_hold(run: Run, hand: psycopg.Connection) -> None:
    holds.set_on_run(run.ref, actor="rita", reason="a claim")
    builder.build()
    with transaction.atomic():
        cut(1)
    hand.execute("CREATE TEMPORARY TABLE durable_heldrun (run_id bigint, hold_id bigint)")
    hand.execute("GRANT ALL ON pg_temp.durable_heldrun TO PUBLIC")
    its_events = "SELECT id FROM public.durable_ledgerevent WHERE run_ref = %s"
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="legal hold"):
        hand.execute(f"SELECT durable_let_events_go(ARRAY({its_events}))".encode(), [run.ref])


def test_no_log_of_ones_own_takes_the_acts_about_people(hand: psycopg.Connection) -> None:
    hand.execute("CREATE TEMPORARY TABLE durable_ledgerevent (LIKE public.durable_ledgerevent INCLUDING ALL)")
    hand.execute("INSERT INTO auth_group (name) VALUES ('shadows')")
    assert LedgerEvent.objects.filter(kind="role added", body__contains="shadows").count() == 1


def test_every_function_of_ours_looks_into_temporary_tables_last() -> None:
    """Those whose path does not name them look there first, before the product's own tables."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace"
            " AND EXISTS (SELECT FROM unnest(p.proconfig) c WHERE c LIKE 'search_path=%')"
            " AND NOT EXISTS (SELECT FROM unnest(p.proconfig) c WHERE c LIKE 'search_path=%, pg_temp')"
        )
        assert cursor.fetchall() == []
        cursor.execute(
            "SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.proconfig IS NULL"
            " AND p.prosrc ~* '\\m(from|into|update|join)\\s+(durable|approvals|auth|django)_'"
        )
        assert cursor.fetchall() == []
