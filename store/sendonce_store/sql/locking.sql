-- Locks of the whole schema, for who changes it.

-- name: one_at_a_time
SELECT pg_advisory_xact_lock(%(lock)s);

-- name: lock_tables
-- One by one: PostgreSQL has no way to take them all or none.
DO $$
DECLARE
  one regclass;
BEGIN
  FOR one IN SELECT c.oid FROM pg_class c
              WHERE c.relnamespace = to_regnamespace('sendonce') AND c.relkind IN ('r', 'p') ORDER BY c.oid LOOP
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', one);
  END LOOP;
END $$;

-- name: limit_time
SELECT set_config('statement_timeout', %(milliseconds)s::text, true);
