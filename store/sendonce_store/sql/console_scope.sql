-- What a session of the console sees: begun with each request. `grant_rights` has the policies.

-- name: begin
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: scope
-- For this transaction alone. The owner of the tables is not bound by it; its statements name the namespaces too.
SELECT set_config('sendonce.viewed', %(viewed)s, true), set_config('statement_timeout', %(timeout)s, true);

-- name: namespaces
SELECT namespace FROM sendonce.namespaces_in_use() AS namespace ORDER BY namespace;

-- name: make_login
SELECT sendonce.make_console_login(%(verifier)s) AS role;

-- name: lacks_policies
-- They are made all at once. `make_login` comes before.
SELECT to_regrole(quote_ident(l.login)) IS NOT NULL
       AND NOT EXISTS (SELECT FROM pg_policies p WHERE p.schemaname = 'sendonce' AND p.policyname = 'viewed'
                          AND p.roles = ARRAY[l.login::name]) AS lacks
  FROM (SELECT sendonce.console_login() AS login) l;

-- name: grant_rights
-- The console reads, and nothing else; what came by a query of somebody's database (import_spool) is not for it. Given
-- anew by each `sendonce migrate`. Nothing happens where no console was ever let in. The policies are for its login alone:
-- a worker's statements are not asked a second question.
DO $$
DECLARE
  console text := sendonce.console_login();
  seen text;
BEGIN
  IF to_regrole(quote_ident(console)) IS NULL THEN
    RETURN;
  END IF;
  EXECUTE format('
    GRANT USAGE ON SCHEMA sendonce TO %1$I;
    GRANT SELECT ON sendonce.store, sendonce.schema_migrations, sendonce.providers, sendonce.pace_limits,
      sendonce.campaigns, sendonce.channels, sendonce.recipients, sendonce.batches, sendonce.deliveries,
      sendonce.attempts, sendonce.import_rejects, sendonce.workers, sendonce.suppressions, sendonce.opt_outs,
      sendonce.actions TO %1$I;
    REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sendonce FROM PUBLIC, %1$I;
    GRANT EXECUTE ON FUNCTION sendonce.viewed_namespaces(), sendonce.own_namespace(), sendonce.namespaces_in_use(),
      sendonce.campaign_links(bigint, text) TO %1$I',
    console);
  FOREACH seen IN ARRAY ARRAY['campaigns', 'channels', 'recipients', 'batches', 'deliveries', 'attempts', 'import_rejects',
                              'workers', 'suppressions', 'opt_outs', 'actions', 'providers', 'pace_limits'] LOOP
    -- To make one anew would lock the table against all workers. In a copy of a database it is the original's login that
    -- has it.
    CONTINUE WHEN EXISTS (SELECT FROM pg_policies p WHERE p.schemaname = 'sendonce' AND p.tablename = seen
                             AND p.policyname = 'viewed' AND p.roles = ARRAY[console::name]);
    EXECUTE format('DROP POLICY IF EXISTS viewed ON sendonce.%I', seen);
    EXECUTE format('CREATE POLICY viewed ON sendonce.%1$I FOR SELECT TO %2$I USING (
      namespace = ANY ((SELECT sendonce.viewed_namespaces())::text[]) %3$s)', seen, console,
      -- or a cluster provider that a campaign of such a namespace uses
      CASE seen WHEN 'providers' THEN $or$OR (namespace = '' AND EXISTS (
                  SELECT FROM sendonce.channels ch WHERE ch.provider_id = providers.id))$or$
                WHEN 'pace_limits' THEN $or$OR (namespace = '' AND EXISTS (
                  SELECT FROM sendonce.channels ch WHERE ch.provider_id = pace_limits.provider_id))$or$
                ELSE '' END);
  END LOOP;
  IF NOT has_database_privilege(console, current_database(), 'CONNECT') THEN
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), console);
  END IF;
END $$;
