-- Logins of namespaces, and what they may do. docs/tenancy.md explains; the policies are in migration 0003.

-- name: who_asks
-- Who makes logins must have the rights of the tables' owner: he alone is not bound by the policies.
SELECT pg_has_role(current_user, n.nspowner, 'USAGE') AS owner, r.rolsuper OR r.rolcreaterole AS makes_roles,
       current_user::text AS role
  FROM pg_namespace n, pg_roles r WHERE n.nspname = 'sendonce' AND r.rolname = current_user;

-- name: make_group
SELECT sendonce.make_group();

-- name: grant_rights
-- What a worker does, and no more: no identity of a row, nobody's wishes, no content, no pace. UPDATE by columns, and no
-- DELETE: either on a whole table would be the right to lock it. Given anew by each `sendonce migrate`. Nothing happens
-- where no tenant was ever made.
DO $$
DECLARE
  tenants text := sendonce.tenants_group();
  applications text := sendonce.applications_group();
  one regprocedure;
BEGIN
  IF to_regrole(quote_ident(tenants)) IS NOT NULL THEN
    PERFORM sendonce.make_group();  -- older stores have the one without the other
  END IF;
  IF to_regrole(quote_ident(tenants)) IS NULL THEN
    RETURN;
  END IF;
  EXECUTE format('
    GRANT USAGE ON SCHEMA sendonce TO %1$I;
    GRANT SELECT ON sendonce.store, sendonce.schema_migrations, sendonce.providers, sendonce.pace_limits,
      sendonce.campaigns, sendonce.channels, sendonce.recipients, sendonce.batches, sendonce.deliveries,
      sendonce.attempts, sendonce.import_rejects, sendonce.import_spool, sendonce.workers, sendonce.suppressions,
      sendonce.opt_outs, sendonce.actions, sendonce.streams, sendonce.inbox,
      sendonce.contacts TO %1$I;
    GRANT UPDATE (hits) ON sendonce.contacts TO %1$I;
    GRANT UPDATE (finished_at) ON sendonce.streams TO %1$I;
    GRANT UPDATE (recipient) ON sendonce.inbox TO %1$I;
    GRANT UPDATE (pauses_in_row) ON sendonce.providers TO %1$I;
    GRANT UPDATE (import_state, import_message, held, rollout_stage, rollout_since, total, duplicates, rejected,
      unreachable, started_at, halt_reason, halt_message, ended, ended_reason, ended_message, completed_at)
      ON sendonce.campaigns TO %1$I;
    GRANT UPDATE (state, claimable_at, lease_token, worker, leased_at, heartbeat_at, claims, crashes, cursor, pending,
      sending, sent, failed, uncertain, suppressed, expired, cancelled) ON sendonce.batches TO %1$I;
    GRANT INSERT ON sendonce.recipients, sendonce.batches, sendonce.deliveries, sendonce.attempts,
      sendonce.import_rejects, sendonce.import_spool, sendonce.workers, sendonce.contacts TO %1$I;
    GRANT UPDATE (key_first_used_at, first_attempt_at, last_attempt_at, next_attempt_at, finished_at,
      attempt_seq, tries, maybe_accepted, evidence, resend_ordered, state, reason, code, error, message_id, worker,
      digest) ON sendonce.deliveries TO %1$I;
    GRANT UPDATE (heartbeat_at, stopped_at, problem) ON sendonce.workers TO %1$I;
    GRANT USAGE ON SEQUENCE sendonce.batches_id_seq TO %1$I;
    REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sendonce FROM PUBLIC, %1$I, %2$I;
    GRANT USAGE ON SCHEMA sendonce TO %2$I;
    GRANT EXECUTE ON FUNCTION sendonce.enqueue(text, text, text, jsonb) TO %2$I', tenants, applications);
  FOR one IN SELECT p.oid FROM pg_proc p
              WHERE p.pronamespace = 'sendonce'::regnamespace
                AND p.proname IN ('own_namespace', 'is_own_batch', 'lease_slots', 'pause_provider', 'move_to_canary',
                                  'drop_emptied_batches', 'forget_spool', 'hold_lease', 'take_turn', 'delivery_key',
                                  'hold_caps', 'count_contacts', 'ways_on', 'next_preferred') LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', one, tenants);
  END LOOP;
  -- both are everybody's unless somebody took them away
  IF NOT has_database_privilege(applications, current_database(), 'CONNECT') THEN
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), applications);
  END IF;
  IF NOT has_database_privilege(tenants, current_database(), 'CONNECT')
     OR NOT has_database_privilege(tenants, current_database(), 'TEMPORARY') THEN
    EXECUTE format('GRANT CONNECT, TEMPORARY ON DATABASE %I TO %I', current_database(), tenants);
  END IF;
  EXECUTE format('GRANT EXECUTE ON FUNCTION sendonce.campaign_links(bigint, text) TO %I', tenants);
END $$;

-- name: make_login
SELECT sendonce.make_login(%(namespace)s, %(verifier)s, %(kind)s) AS role;

-- name: logins
SELECT t.role, t.no, t.created_at, t.retired_at FROM sendonce.tenants t
 WHERE t.namespace = %(namespace)s AND t.kind = %(kind)s ORDER BY t.no;

-- name: tenants
SELECT t.namespace, min(t.created_at) AS since, array_agg(t.role ORDER BY t.no) FILTER (WHERE t.retired_at IS NULL) AS logins, t.kind,
       count(t.retired_at) AS retired,
       (SELECT count(*) FROM pg_stat_activity a WHERE a.usename::text = ANY (array_agg(t.role))) AS sessions,
       (SELECT count(*) FROM sendonce.campaigns c WHERE c.namespace = t.namespace AND c.ended IS NULL) AS unfinished
  FROM sendonce.tenants t GROUP BY t.namespace, t.kind ORDER BY t.namespace, t.kind DESC;

-- name: unfinished
SELECT send_key FROM sendonce.campaigns WHERE namespace = %(namespace)s AND ended IS NULL ORDER BY id;

-- name: retire_login
SELECT sendonce.retire_login(%(role)s);

-- name: end_sessions
SELECT sendonce.end_sessions(%(role)s) AS ended;

-- name: drop_login
SELECT sendonce.drop_login(%(role)s);
