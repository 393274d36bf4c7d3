"""What is written all the time stands in fewer indexes, and a subject names its run.

The foreign keys of what is never deleted need none, nor do those that another index begins with. With its run, what a
subject was asked about by one run is found however much others have done for it: policy asks before each payment.
"""

from __future__ import annotations

from typing import Any, ClassVar

import django.db.models.deletion as on_delete
from django.db import migrations, models

CASCADE, PROTECT = on_delete.CASCADE, on_delete.PROTECT
BARE: tuple[tuple[str, str, str, Any, dict[str, Any]], ...] = (
    ("attempt", "run", "durable.run", CASCADE, {"related_name": "attempts"}),
    ("checkpoint", "branch", "durable.branch", PROTECT, {"related_name": "checkpoints"}),
    ("checkpoint", "run", "durable.run", CASCADE, {"related_name": "checkpoints"}),
    ("effect", "facts", "durable.sealed", PROTECT, {"related_name": "+", "null": True}),
    ("effect", "linked_from", "durable.effect", PROTECT, {"related_name": "linked", "null": True}),
    ("effect", "payload", "durable.sealed", PROTECT, {"related_name": "+"}),
    ("effect", "payload_asked", "durable.sealed", PROTECT, {"related_name": "+"}),
    ("effect", "proof", "durable.sealed", PROTECT, {"related_name": "+", "null": True}),
    ("effect", "run", "durable.run", PROTECT, {"related_name": "effects"}),
    ("effect", "said", "durable.sealed", PROTECT, {"related_name": "+", "null": True}),
    ("effect", "undo_of", "durable.effect", PROTECT, {"related_name": "undos", "null": True}),
    ("effect", "words", "durable.sealed", PROTECT, {"related_name": "+", "null": True}),
    ("frozen", "run", "durable.run", CASCADE, {"related_name": "frozen"}),
    ("message", "branch", "durable.branch", CASCADE, {"related_name": "messages"}),
    ("purse", "budget", "durable.budget", CASCADE, {"related_name": "purses"}),
    ("run", "branch", "durable.branch", PROTECT, {"related_name": "runs", "null": True}),
    ("run", "parent", "durable.run", PROTECT, {"related_name": "forks", "null": True}),
    ("sealed", "run", "durable.run", CASCADE, {"related_name": "sealed"}),
    ("signal", "run", "durable.run", CASCADE, {"related_name": "signals"}),
    ("subject", "effect", "durable.effect", CASCADE, {"related_name": "subjects"}),
    ("wait", "run", "durable.run", CASCADE, {"related_name": "waits"}),
)

OF_THEIR_EFFECTS = """
UPDATE durable_subject s SET run_id = e.run_id FROM durable_effect e WHERE e.id = s.effect_id
"""

# Beside an index for equality Django makes one for prefixes, of which nobody asks here.
DROP_PREFIXES = """
DROP INDEX IF EXISTS durable_effect_key_8bdfb8e8_like;
DROP INDEX IF EXISTS durable_chain_run_ref_04596c8f_like;
DROP INDEX IF EXISTS durable_run_start_key_7941ea10_like
"""
MAKE_PREFIXES = """
CREATE INDEX durable_effect_key_8bdfb8e8_like ON durable_effect (key text_pattern_ops);
CREATE INDEX durable_chain_run_ref_04596c8f_like ON durable_chain (run_ref text_pattern_ops);
CREATE INDEX durable_run_start_key_7941ea10_like ON durable_run (start_key text_pattern_ops)
"""

# Only the trigger on events moves a chain's head. A direct statement stands at depth 0, and only for it is the function
# called at all, which is what an event used to pay for.
GUARD = """
CREATE OR REPLACE FUNCTION durable_guard_chain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'only an event moves the head of a chain: % of % is refused', lower(TG_OP), TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END $$;
DROP TRIGGER moved_by_events ON durable_chain;
CREATE TRIGGER moved_by_events BEFORE INSERT OR UPDATE ON durable_chain
    FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION durable_guard_chain();
ALTER TABLE durable_chain ENABLE ALWAYS TRIGGER moved_by_events;
"""
UNGUARD = """
CREATE OR REPLACE FUNCTION durable_guard_chain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_trigger_depth() < 2 THEN
        RAISE EXCEPTION 'only an event moves the head of a chain: % of % is refused', lower(TG_OP), TG_TABLE_NAME
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
DROP TRIGGER moved_by_events ON durable_chain;
CREATE TRIGGER moved_by_events BEFORE INSERT OR UPDATE ON durable_chain
    FOR EACH ROW EXECUTE FUNCTION durable_guard_chain();
ALTER TABLE durable_chain ENABLE ALWAYS TRIGGER moved_by_events;
"""

_OF_RUN = {"on_delete": CASCADE, "related_name": "+", "db_constraint": False, "db_index": False}


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0005_run_moves_on")]

    operations: ClassVar = [
        migrations.RunSQL(GUARD, UNGUARD),
        migrations.AddField("subject", "run", models.ForeignKey("durable.run", null=True, **_OF_RUN)),
        migrations.RunSQL(OF_THEIR_EFFECTS, migrations.RunSQL.noop),
        migrations.AlterField("subject", "run", models.ForeignKey("durable.run", **_OF_RUN)),
        *(
            migrations.AlterField(model, name, models.ForeignKey(to, way, db_index=False, **more))
            for model, name, to, way, more in BARE
        ),
        migrations.RunSQL(DROP_PREFIXES, MAKE_PREFIXES),
    ]
