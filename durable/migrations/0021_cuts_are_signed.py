"""Only what is signed lets events go: the database itself checks the signature of a cut before it takes it.

Until now the trigger believed any row that looked like a cut, and whoever had the application's role could write one.
Whose signatures count only the owner of the tables says (`durable_signkey`, by `manage.py migrate`), and which cuts have
been checked stands where nobody else writes (`durable_acceptedcut`).
"""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

SIGNED = r"""
-- Ed25519 as in RFC 8032, verification only, in the plain form of its section 6: a point is X, Y, Z, T with x = X/Z.
CREATE FUNCTION durable_number(bytes bytea) RETURNS numeric LANGUAGE plpgsql IMMUTABLE STRICT
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    found numeric := 0;
BEGIN
    FOR place IN REVERSE length(bytes) - 1..0 LOOP
        found := found * 256 + get_byte(bytes, place);
    END LOOP;
    RETURN found;
END $$;
CREATE FUNCTION durable_power(base numeric, exponent numeric) RETURNS numeric LANGUAGE plpgsql IMMUTABLE STRICT
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    p CONSTANT numeric := 57896044618658097711785492504343953926634992332820282019728792003956564819949;
    found numeric := 1;
BEGIN
    WHILE exponent > 0 LOOP
        IF mod(exponent, 2) = 1 THEN
            found := mod(found * base, p);
        END IF;
        base := mod(base * base, p);
        exponent := div(exponent, 2);
    END LOOP;
    RETURN found;
END $$;
-- So many times a point, added to another one.
CREATE FUNCTION durable_times(scalar numeric, a numeric[], start numeric[]) RETURNS numeric[] LANGUAGE plpgsql IMMUTABLE STRICT
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    p CONSTANT numeric := 57896044618658097711785492504343953926634992332820282019728792003956564819949;
    d2 CONSTANT numeric := 16295367250680780974490674513165176452449235426866156013048779062215315747161;
    x numeric := start[1]; y numeric := start[2]; z numeric := start[3]; t numeric := start[4];
    ax numeric := a[1]; ay numeric := a[2]; az numeric := a[3]; at numeric := a[4];
    e numeric; f numeric; g numeric; h numeric;
BEGIN
    WHILE scalar > 0 LOOP
        IF mod(scalar, 2) = 1 THEN
            e := mod((y - x) * (ay - ax), p); f := mod((y + x) * (ay + ax), p);
            g := mod(mod(t * at, p) * d2, p); h := mod(2 * z * az, p);
            x := mod((f - e) * (h - g), p); y := mod((h + g) * (f + e), p);
            z := mod((h - g) * (h + g), p); t := mod((f - e) * (f + e), p);
        END IF;
        e := mod((ay - ax) * (ay - ax), p); f := mod((ay + ax) * (ay + ax), p);
        g := mod(mod(at * at, p) * d2, p); h := mod(2 * az * az, p);
        ax := mod((f - e) * (h - g), p); ay := mod((h + g) * (f + e), p);
        az := mod((h - g) * (h + g), p); at := mod((f - e) * (f + e), p);
        scalar := div(scalar, 2);
    END LOOP;
    RETURN ARRAY[x, y, z, t];
END $$;
CREATE FUNCTION durable_point(bytes bytea) RETURNS numeric[] LANGUAGE plpgsql IMMUTABLE STRICT
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    p CONSTANT numeric := 57896044618658097711785492504343953926634992332820282019728792003956564819949;
    d CONSTANT numeric := 37095705934669439343138083508754565189542113879843219016388785533085940283555;
    half CONSTANT numeric := 57896044618658097711785492504343953926634992332820282019728792003956564819968;
    n numeric := durable_number(bytes);
    y numeric := mod(n, half); sign numeric := div(n, half);
    x numeric; x2 numeric;
BEGIN
    IF length(bytes) <> 32 OR y >= p THEN
        RETURN NULL;
    END IF;
    x2 := mod((y * y + p - 1) * durable_power(mod(d * y * y + 1, p), p - 2), p);
    x := durable_power(x2, div(p + 3, 8));
    IF mod(x * x, p) <> x2 THEN
        x := mod(x * durable_power(2, div(p - 1, 4)), p);
    END IF;
    IF mod(x * x, p) <> x2 OR x = 0 AND sign = 1 THEN
        RETURN NULL;
    END IF;
    IF mod(x, 2) <> sign THEN
        x := p - x;
    END IF;
    RETURN ARRAY[x, y, 1, mod(x * y, p)];
END $$;
CREATE FUNCTION durable_signed(key bytea, message bytea, signature bytea) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    p CONSTANT numeric := 57896044618658097711785492504343953926634992332820282019728792003956564819949;
    q CONSTANT numeric := 7237005577332262213973186563042994240857116359379907606001950938285454250989;
    base CONSTANT numeric[] := durable_point('\x5866666666666666666666666666666666666666666666666666666666666666');
    public numeric[] := durable_point(key);
    r numeric[] := durable_point(substring(signature FOR 32));
    s numeric := durable_number(substring(signature FROM 33));
    l numeric[]; m numeric[];
BEGIN
    IF length(signature) <> 64 OR public IS NULL OR r IS NULL OR s >= q THEN
        RETURN false;
    END IF;
    l := durable_times(s, base, ARRAY[0, 1, 1, 0]);
    m := durable_times(mod(durable_number(sha512(substring(signature FOR 32) || key || message)), q), public, r);
    RETURN mod(l[1] * m[3] - m[1] * l[3], p) = 0 AND mod(l[2] * m[3] - m[2] * l[3], p) = 0;
END $$;
"""
CUTS = r"""
CREATE FUNCTION durable_cut_is_signed(number bigint, statement text, signature bytea) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM durable_signkey k
        WHERE k.key = substring($2 FROM E'\nkey: ([0-9a-f]{64})$')
          AND durable_signed(decode(k.key, 'hex'), convert_to($2, 'UTF8'), $3)
    ) AND starts_with($2, E'interlock-cut-1\nnumber: ' || $1 || E'\ngone: ')
      AND substring($2 FROM E'\nprevious: ([0-9a-f]{64})\n') = (
        SELECT encode(sha256(convert_to(r.statement, 'UTF8')), 'hex') FROM durable_root r WHERE r.number = $1 - 1
    )
$$;
-- As the owner, who alone writes down what was checked.
CREATE FUNCTION durable_take_cut() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF durable_cut_is_signed(NEW.number, NEW.statement, NEW.signature) IS NOT TRUE THEN
        RAISE EXCEPTION 'a cut must follow the newest statement, signed with a key that the owner of the tables has named'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO durable_acceptedcut (number, gone)
    VALUES (NEW.number, substring(NEW.statement FROM E'\ngone: ([0-9]{1,18})\n')::bigint);
    RETURN NEW;
END $$;
CREATE TRIGGER cut_is_signed BEFORE INSERT ON durable_root
    FOR EACH ROW WHEN (NEW.statement LIKE 'interlock-cut-%') EXECUTE FUNCTION durable_take_cut();
ALTER TABLE durable_root ENABLE ALWAYS TRIGGER cut_is_signed;
-- For the owner: cuts of before there was a check.
CREATE FUNCTION durable_accept_cuts() RETURNS void LANGUAGE sql SET search_path = pg_catalog, public, pg_temp AS $$
    INSERT INTO durable_acceptedcut (number, gone)
    SELECT r.number, substring(r.statement FROM E'\ngone: ([0-9]{1,18})\n')::bigint FROM durable_root r
    WHERE r.statement LIKE 'interlock-cut-%' AND NOT EXISTS (SELECT FROM durable_acceptedcut a WHERE a.number = r.number)
      AND durable_cut_is_signed(r.number, r.statement, r.signature)
$$;
CREATE OR REPLACE FUNCTION durable_gone() RETURNS bigint LANGUAGE sql STABLE
SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT coalesce(max(gone), 0) FROM durable_acceptedcut
$$;
"""
UNCUT = r"""
CREATE OR REPLACE FUNCTION durable_gone() RETURNS bigint LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT coalesce((
        SELECT substring(statement FROM E'\ngone: ([0-9]{1,18})\n')::bigint FROM durable_root
        WHERE statement LIKE 'interlock-cut-%' ORDER BY number DESC LIMIT 1
    ), 0)
$$;
DROP FUNCTION durable_accept_cuts();
DROP TRIGGER cut_is_signed ON durable_root;
DROP FUNCTION durable_take_cut();
DROP FUNCTION durable_cut_is_signed(bigint, text, bytea);
DROP FUNCTION durable_signed(bytea, bytea, bytea);
DROP FUNCTION durable_point(bytea);
DROP FUNCTION durable_times(numeric, numeric[], numeric[]);
DROP FUNCTION durable_power(numeric, numeric);
DROP FUNCTION durable_number(bytea);
"""

class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0020_erasures_by_two")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="SignKey",
            fields=[("key", models.TextField(primary_key=True, serialize=False))],
        ),
        migrations.CreateModel(
            name="AcceptedCut",
            fields=[
                ("number", models.BigIntegerField(primary_key=True, serialize=False)),
                ("gone", models.BigIntegerField()),
            ],
        ),
        migrations.RunSQL(SIGNED, migrations.RunSQL.noop),
        migrations.RunSQL(CUTS, UNCUT),
    ]
