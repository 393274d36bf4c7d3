"""The guards that stand in the database itself: a decision never changes, and a gate stays bound to its payload."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

KEEP = """
CREATE FUNCTION approvals_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a decision is written once: % of % is refused', lower(TG_OP), TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER only_grows BEFORE UPDATE OR DELETE ON approvals_decision
    FOR EACH ROW EXECUTE FUNCTION approvals_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON approvals_decision
    FOR EACH STATEMENT EXECUTE FUNCTION approvals_refuse_change();
ALTER TABLE approvals_decision ENABLE ALWAYS TRIGGER only_grows;
ALTER TABLE approvals_decision ENABLE ALWAYS TRIGGER never_emptied;

CREATE FUNCTION approvals_bind_gate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.wait_id, NEW.effect_id, NEW.round, NEW.digest, NEW.payload_id)
       IS DISTINCT FROM (OLD.wait_id, OLD.effect_id, OLD.round, OLD.digest, OLD.payload_id) THEN
        RAISE EXCEPTION 'a gate stays bound to its effect, round and payload; what changes opens a new round'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.used_at IS NOT NULL AND NEW.used_at IS DISTINCT FROM OLD.used_at THEN
        RAISE EXCEPTION 'an approval is used once' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.state NOT IN ('open', 'asked back') AND NEW.state IN ('open', 'asked back') THEN
        RAISE EXCEPTION 'an answered gate is not opened again' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bound BEFORE UPDATE ON approvals_gate FOR EACH ROW EXECUTE FUNCTION approvals_bind_gate();
ALTER TABLE approvals_gate ENABLE ALWAYS TRIGGER bound;
"""

LET_GO = """
DROP TRIGGER bound ON approvals_gate;
DROP FUNCTION approvals_bind_gate();
DROP TRIGGER never_emptied ON approvals_decision;
DROP TRIGGER only_grows ON approvals_decision;
DROP FUNCTION approvals_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("approvals", "0001_initial")]

    operations: ClassVar = [migrations.RunSQL(KEEP, LET_GO)]
