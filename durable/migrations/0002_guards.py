"""The guards that stand in the database itself: the chain of events, and that nothing ever changes in it."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

CHAIN = """
CREATE FUNCTION durable_chain_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public AS $$
DECLARE
    tail durable_chain%ROWTYPE;
BEGIN
    -- The row lock on the chain's head orders the writers of one run; other runs never meet here.
    SELECT * INTO tail FROM durable_chain WHERE run_ref = NEW.run_ref FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO durable_chain (run_ref, no, head) VALUES (NEW.run_ref, 0, ''::bytea) ON CONFLICT DO NOTHING;
        SELECT * INTO tail FROM durable_chain WHERE run_ref = NEW.run_ref FOR UPDATE;
    END IF;
    NEW.no := tail.no + 1;
    NEW.at := clock_timestamp();
    -- Eight lines, the first of which names this form of text. A CHECK keeps line breaks out of every one of
    -- them, so no two events join to the same text.
    NEW.hash := sha256(tail.head || convert_to(concat_ws(E'\\n',
        'interlock-1', NEW.run_ref, NEW.no, NEW.kind, NEW.effect_key, NEW.actor,
        to_char(NEW.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), NEW.body), 'UTF8'));
    UPDATE durable_chain SET no = NEW.no, head = NEW.hash WHERE run_ref = NEW.run_ref;
    RETURN NEW;
END $$;
CREATE TRIGGER chain_event BEFORE INSERT ON durable_ledgerevent
    FOR EACH ROW EXECUTE FUNCTION durable_chain_event();
ALTER TABLE durable_ledgerevent ENABLE ALWAYS TRIGGER chain_event;
"""

UNCHAIN = """
DROP TRIGGER chain_event ON durable_ledgerevent;
DROP FUNCTION durable_chain_event();
"""

REFUSE = """
CREATE FUNCTION durable_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger only grows: % of % is refused', lower(TG_OP), TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER only_grows BEFORE UPDATE OR DELETE ON durable_ledgerevent
    FOR EACH ROW EXECUTE FUNCTION durable_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON durable_ledgerevent
    FOR EACH STATEMENT EXECUTE FUNCTION durable_refuse_change();
ALTER TABLE durable_ledgerevent ENABLE ALWAYS TRIGGER only_grows;
ALTER TABLE durable_ledgerevent ENABLE ALWAYS TRIGGER never_emptied;

CREATE FUNCTION durable_guard_chain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Only the trigger on events moves a chain's head; a direct statement stands at depth 1.
    IF pg_trigger_depth() < 2 THEN
        RAISE EXCEPTION 'only an event moves the head of a chain: % of % is refused', lower(TG_OP), TG_TABLE_NAME
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER moved_by_events BEFORE INSERT OR UPDATE ON durable_chain
    FOR EACH ROW EXECUTE FUNCTION durable_guard_chain();
CREATE TRIGGER chain_only_grows BEFORE DELETE ON durable_chain
    FOR EACH ROW EXECUTE FUNCTION durable_refuse_change();
CREATE TRIGGER chain_never_emptied BEFORE TRUNCATE ON durable_chain
    FOR EACH STATEMENT EXECUTE FUNCTION durable_refuse_change();
ALTER TABLE durable_chain ENABLE ALWAYS TRIGGER moved_by_events;
ALTER TABLE durable_chain ENABLE ALWAYS TRIGGER chain_only_grows;
ALTER TABLE durable_chain ENABLE ALWAYS TRIGGER chain_never_emptied;
"""

ALLOW = """
DROP TRIGGER chain_never_emptied ON durable_chain;
DROP TRIGGER chain_only_grows ON durable_chain;
DROP TRIGGER moved_by_events ON durable_chain;
DROP FUNCTION durable_guard_chain();
DROP TRIGGER never_emptied ON durable_ledgerevent;
DROP TRIGGER only_grows ON durable_ledgerevent;
DROP FUNCTION durable_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0001_initial")]

    operations: ClassVar = [migrations.RunSQL(CHAIN, UNCHAIN), migrations.RunSQL(REFUSE, ALLOW)]
