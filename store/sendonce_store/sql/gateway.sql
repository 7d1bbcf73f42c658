-- The gateway's login, and what it may do. docs/gateway.md explains; the functions are in migration 0008.

-- name: grant_gateway
-- The functions that are named here, and nothing else. Given anew by each `sendonce migrate`. Nothing happens where the
-- gateway has no login.
DO $$
DECLARE
  gateway text := sendonce.gateway_role();
  one regprocedure;
BEGIN
  IF to_regrole(quote_ident(gateway)) IS NULL THEN
    RETURN;
  END IF;
  EXECUTE format('
    GRANT USAGE ON SCHEMA sendonce TO %1$I;
    REVOKE ALL ON ALL TABLES IN SCHEMA sendonce FROM %1$I;
    REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sendonce FROM PUBLIC, %1$I', gateway);
  FOR one IN SELECT p.oid FROM pg_proc p
              WHERE p.pronamespace = 'sendonce'::regnamespace
                AND p.proname IN ('gateway_schema', 'gateway_link_key', 'gateway_opt_out', 'gateway_opt_in',
                                  'gateway_topics', 'gateway_enqueue', 'gateway_receipt') LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', one, gateway);
  END LOOP;
  IF NOT has_database_privilege(gateway, current_database(), 'CONNECT') THEN
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), gateway);
  END IF;
END $$;

-- name: make_login
SELECT sendonce.make_gateway_login(%(verifier)s) AS role;

-- name: schema
SELECT sendonce.gateway_schema() AS version;

-- name: link_key
SELECT * FROM sendonce.gateway_link_key(%(key_id)s);

-- name: opt_out
SELECT sendonce.gateway_opt_out(%(namespace)s, %(channel)s, %(address)s, %(category)s, %(topic)s, %(way)s) AS changed;

-- name: opt_in
SELECT sendonce.gateway_opt_in(%(namespace)s, %(channel)s, %(address)s, %(category)s, %(topic)s) AS changed;

-- name: enqueue
SELECT sendonce.gateway_enqueue(%(token)s, %(namespace)s, %(send_key)s, %(key)s, %(recipient)s::jsonb) AS number;

-- name: topics
SELECT * FROM sendonce.gateway_topics(%(namespace)s, %(channel)s, %(address)s, %(category)s);
