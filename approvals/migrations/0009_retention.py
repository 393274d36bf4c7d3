"""Decisions go with their effects once no event of the ledger speaks of them; the rights that retention takes."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from approvals.capabilities import PERMISSIONS

GO = """
CREATE FUNCTION approvals_go_with_effect() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM durable_cut)
       OR NOT EXISTS (SELECT FROM approvals_gate WHERE id = OLD.gate_id)
       OR EXISTS (
           SELECT FROM approvals_gate g JOIN durable_effect e ON e.id = g.effect_id
           JOIN durable_ledgerevent v ON v.effect_key = e.key
           WHERE g.id = OLD.gate_id AND v.effect_key <> ''
       ) THEN
        RAISE EXCEPTION 'a decision goes when the ledger no longer speaks of its effect: % of % is refused',
            lower(TG_OP), TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN OLD;
END $$;
DROP TRIGGER only_grows ON approvals_decision;
CREATE TRIGGER only_grows BEFORE UPDATE ON approvals_decision
    FOR EACH ROW EXECUTE FUNCTION approvals_refuse_change();
CREATE TRIGGER goes_with_effect BEFORE DELETE ON approvals_decision
    FOR EACH ROW EXECUTE FUNCTION approvals_go_with_effect();
ALTER TABLE approvals_decision ENABLE ALWAYS TRIGGER only_grows;
ALTER TABLE approvals_decision ENABLE ALWAYS TRIGGER goes_with_effect;
"""
STAY = """
DROP TRIGGER goes_with_effect ON approvals_decision;
DROP TRIGGER only_grows ON approvals_decision;
CREATE TRIGGER only_grows BEFORE UPDATE OR DELETE ON approvals_decision
    FOR EACH ROW EXECUTE FUNCTION approvals_refuse_change();
ALTER TABLE approvals_decision ENABLE ALWAYS TRIGGER only_grows;
DROP FUNCTION approvals_go_with_effect();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("approvals", "0008_readers"), ("durable", "0017_retention")]

    operations: ClassVar = [
        migrations.AlterModelOptions("gate", {"default_permissions": (), "permissions": PERMISSIONS}),
        migrations.RunSQL(GO, STAY),
    ]
