-- One login per namespace. A tenant's login is whoever stands in `tenants`; it sees and writes the rows of its namespace,
-- as far as a worker must, and nothing else. The owner of the tables (the operator, people with `sendonce`) is not bound.
-- docs/tenancy.md says what a tenant can do; sql/tenancy.sql gives the rights.
CREATE TABLE sendonce.tenants (
  role       text PRIMARY KEY,
  namespace  text NOT NULL,
  no         integer NOT NULL,             -- a rotation makes the next one, and both are good until the old one is retired
  created_at timestamptz NOT NULL DEFAULT now(),
  retired_at timestamptz,                  -- locked out; the row stays until the role could be dropped
  UNIQUE (namespace, no)
);

-- Which cluster providers a namespace uses, newest campaign first.
CREATE INDEX channels_by_provider ON sendonce.channels (provider_id, namespace, campaign_id);

-- The namespace of the session's login; null for anybody who is no tenant. session_user: SET ROLE and a function's own
-- rights change the current user, nothing that a tenant can do changes this one.
CREATE FUNCTION sendonce.own_namespace() RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (SELECT t.namespace FROM sendonce.tenants t WHERE t.role = session_user::text AND t.retired_at IS NULL);
END $$;

-- Roles belong to the server, not to the database: their names carry a hash of the database's name, and a comment tells
-- whose they are. A role that does not say so is never touched.
CREATE FUNCTION sendonce.tenants_group() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT 'sendonce_tenants_' || left(encode(sha256(convert_to(current_database(), 'UTF8')), 'hex'), 8)
$$;

CREATE FUNCTION sendonce.role_comment(what text) RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT format('Sendonce, database %s: %s', current_database(), what)
$$;

-- At most 63 bytes, and no two alike.
CREATE FUNCTION sendonce.login_name(of_namespace text, no integer) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT 'sendonce_ns_' || left(of_namespace, 36) || '_'
      || left(encode(sha256(convert_to(current_database() || chr(31) || of_namespace, 'UTF8')), 'hex'), 8) || '_' || no
$$;

-- True when the role is there and ours, false when it is not there; raises when it is somebody else's.
CREATE FUNCTION sendonce.is_our_role(role_name text, what text) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF to_regrole(quote_ident(role_name)) IS NULL THEN
    RETURN false;
  END IF;
  IF shobj_description(to_regrole(quote_ident(role_name)), 'pg_authid') IS DISTINCT FROM sendonce.role_comment(what) THEN
    RAISE EXCEPTION 'role % is there already and was not made for %: rename or drop it', role_name, what
      USING ERRCODE = 'SO002';
  END IF;
  RETURN true;
END $$;

CREATE FUNCTION sendonce.make_group() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT sendonce.is_our_role(sendonce.tenants_group(), 'tenants') THEN
    EXECUTE format('CREATE ROLE %I NOLOGIN', sendonce.tenants_group());
    EXECUTE format('COMMENT ON ROLE %I IS %L', sendonce.tenants_group(), sendonce.role_comment('tenants'));
  END IF;
END $$;

-- A login of its own for the namespace, besides those that it has. `verifier` is the password as the server keeps it.
CREATE FUNCTION sendonce.make_login(of_namespace text, verifier text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  next_no integer := (SELECT coalesce(max(t.no), 0) + 1 FROM sendonce.tenants t WHERE t.namespace = of_namespace);
  role_name text := sendonce.login_name(of_namespace, next_no);
  what text := format('namespace %s', of_namespace);
BEGIN
  IF sendonce.is_our_role(role_name, what) THEN  -- left by a database of this name that is gone
    EXECUTE format('DROP ROLE %I', role_name);
  END IF;
  EXECUTE format('CREATE ROLE %I LOGIN PASSWORD %L', role_name, verifier);
  EXECUTE format('COMMENT ON ROLE %I IS %L', role_name, sendonce.role_comment(what));
  EXECUTE format('GRANT %I TO %I', sendonce.tenants_group(), role_name);
  INSERT INTO sendonce.tenants (role, namespace, no) VALUES (role_name, of_namespace, next_no);
  RETURN role_name;
END $$;

-- Locked out at once: the next statement of an open session finds no row, and no new session begins.
CREATE FUNCTION sendonce.retire_login(role_name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  of_namespace text;
BEGIN
  UPDATE sendonce.tenants t SET retired_at = coalesce(t.retired_at, now()) WHERE t.role = role_name
    RETURNING t.namespace INTO of_namespace;
  IF sendonce.is_our_role(role_name, format('namespace %s', of_namespace)) THEN
    EXECUTE format('ALTER ROLE %I NOLOGIN', role_name);
  END IF;
END $$;

-- Ends the sessions of a retired login and returns how many there were. Who is no superuser may do so as a member.
CREATE FUNCTION sendonce.end_sessions(role_name text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  BEGIN
    RETURN (SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a WHERE a.usename = role_name);
  EXCEPTION WHEN insufficient_privilege THEN
    EXECUTE format('GRANT %I TO CURRENT_USER', role_name);
    RETURN (SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a WHERE a.usename = role_name);
  END;
END $$;

-- Raises dependent_objects_still_exist while something is the role's own, a temporary table of an open session, say.
CREATE FUNCTION sendonce.drop_login(role_name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  of_namespace text;
BEGIN
  DELETE FROM sendonce.tenants t WHERE t.role = role_name AND t.retired_at IS NOT NULL
    RETURNING t.namespace INTO of_namespace;
  IF FOUND AND sendonce.is_our_role(role_name, format('namespace %s', of_namespace)) THEN
    EXECUTE format('DROP ROLE %I', role_name);
  END IF;
END $$;

-- Each namespace by itself. The sub-query makes it one look-up per statement instead of one per row.
ALTER TABLE sendonce.tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.providers ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.pace_limits ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.pace_shares ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.campaigns ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.channels ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.recipients ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.batches ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.deliveries ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.attempts ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.import_rejects ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.import_spool ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.workers ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.suppressions ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.opt_outs ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.actions ENABLE ROW LEVEL SECURITY;

CREATE POLICY own ON sendonce.campaigns USING (namespace = (SELECT sendonce.own_namespace()));
CREATE POLICY own ON sendonce.channels USING (namespace = (SELECT sendonce.own_namespace()));
CREATE POLICY own ON sendonce.recipients USING (namespace = (SELECT sendonce.own_namespace()));
CREATE POLICY own ON sendonce.batches USING (namespace = (SELECT sendonce.own_namespace()));
CREATE POLICY own ON sendonce.deliveries USING (namespace = (SELECT sendonce.own_namespace()));
CREATE POLICY own ON sendonce.attempts USING (namespace = (SELECT sendonce.own_namespace()));
CREATE POLICY own ON sendonce.import_rejects USING (namespace = (SELECT sendonce.own_namespace()));
CREATE POLICY own ON sendonce.import_spool USING (namespace = (SELECT sendonce.own_namespace()));
CREATE POLICY own ON sendonce.workers USING (namespace = (SELECT sendonce.own_namespace()));
CREATE POLICY own ON sendonce.suppressions USING (namespace = (SELECT sendonce.own_namespace()));
CREATE POLICY own ON sendonce.opt_outs USING (namespace = (SELECT sendonce.own_namespace()));
CREATE POLICY own ON sendonce.actions USING (namespace = (SELECT sendonce.own_namespace()));

-- A provider of the namespace, or a cluster provider that a campaign of the namespace uses.
CREATE POLICY used ON sendonce.providers FOR SELECT USING (namespace = (SELECT sendonce.own_namespace())
  OR (namespace = '' AND EXISTS (SELECT FROM sendonce.channels ch WHERE ch.provider_id = providers.id)));
CREATE POLICY used ON sendonce.pace_limits FOR SELECT USING (namespace = (SELECT sendonce.own_namespace())
  OR (namespace = '' AND EXISTS (SELECT FROM sendonce.channels ch WHERE ch.provider_id = pace_limits.provider_id)));
-- All that a turn may write there: something got through, so the next pause starts small again.
CREATE POLICY flowing ON sendonce.providers FOR UPDATE
  USING ((paused_until IS NULL OR paused_until <= now()) AND (namespace = (SELECT sendonce.own_namespace())
    OR (namespace = '' AND EXISTS (SELECT FROM sendonce.channels ch WHERE ch.provider_id = providers.id))))
  WITH CHECK (pauses_in_row = 0);

-- A new row belongs to a campaign, and a batch, of its namespace: a foreign number in it would get in the way of another
-- import, or find out by a clash of keys what is there. Policies are asked before keys are compared.
CREATE POLICY of_own_campaign ON sendonce.recipients AS RESTRICTIVE FOR INSERT
  WITH CHECK (EXISTS (SELECT FROM sendonce.campaigns c WHERE c.id = campaign_id));
CREATE POLICY of_own_campaign ON sendonce.import_rejects AS RESTRICTIVE FOR INSERT
  WITH CHECK (EXISTS (SELECT FROM sendonce.campaigns c WHERE c.id = campaign_id));
CREATE POLICY of_own_campaign ON sendonce.import_spool AS RESTRICTIVE FOR INSERT
  WITH CHECK (EXISTS (SELECT FROM sendonce.campaigns c WHERE c.id = campaign_id));
CREATE POLICY of_own_campaign ON sendonce.workers AS RESTRICTIVE FOR INSERT
  WITH CHECK (EXISTS (SELECT FROM sendonce.campaigns c WHERE c.id = campaign_id));
CREATE POLICY in_own_batch ON sendonce.deliveries AS RESTRICTIVE FOR INSERT WITH CHECK (EXISTS (
  SELECT FROM sendonce.batches b WHERE b.id = batch_id AND b.campaign_id = deliveries.campaign_id));
CREATE POLICY in_own_batch ON sendonce.attempts AS RESTRICTIVE FOR INSERT WITH CHECK (EXISTS (
  SELECT FROM sendonce.batches b WHERE b.id = batch_id AND b.campaign_id = attempts.campaign_id));
-- A policy can't ask its own table.
CREATE FUNCTION sendonce.is_own_batch(batch bigint, campaign bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (SELECT FROM sendonce.batches b
                  WHERE b.id = batch AND b.campaign_id = campaign AND b.namespace = sendonce.own_namespace())
$$;
-- Numbers that were not given out yet are for those whom they will be given to.
CREATE POLICY in_own_campaign ON sendonce.batches AS RESTRICTIVE FOR INSERT WITH CHECK (
  EXISTS (SELECT FROM sendonce.campaigns c WHERE c.id = campaign_id)
  AND (provider_id IS NULL OR EXISTS (
    SELECT FROM sendonce.channels ch WHERE ch.campaign_id = batches.campaign_id AND ch.provider_id = batches.provider_id))
  AND (fallback_of IS NULL OR sendonce.is_own_batch(fallback_of, campaign_id))
  AND id <= pg_sequence_last_value('sendonce.batches_id_seq'));

-- For whom a function with the owner's rights acts: a namespace, or null for the operator. Raises for anybody else.
CREATE FUNCTION sendonce.acting_for() RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own text := sendonce.own_namespace();
BEGIN
  IF own IS NULL
     AND NOT pg_has_role(session_user, (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'sendonce'), 'USAGE')
     AND NOT (SELECT r.rolbypassrls FROM pg_roles r WHERE r.rolname = session_user) THEN
    RAISE EXCEPTION '% has no namespace in this store', session_user USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN own;
END $$;

-- The same for a provider; raises unless it is the namespace's, or a cluster provider that a campaign of it uses.
CREATE FUNCTION sendonce.acting_for(provider bigint) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own text := sendonce.acting_for();
BEGIN
  IF own IS NOT NULL AND NOT EXISTS (
    SELECT FROM sendonce.providers p
     WHERE p.id = provider AND (p.namespace = own OR (p.namespace = '' AND EXISTS (
             SELECT FROM sendonce.channels ch WHERE ch.provider_id = p.id AND ch.namespace = own)))) THEN
    RAISE EXCEPTION 'provider % is not for namespace %', provider, own USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN own;
END $$;

-- A canary's people go into batches of their own: person k (from 0) into batch number k / size of each channel. A login of a
-- namespace may not write by itself which batch a row is in, and the hot path need not look at each row whether it did.
CREATE FUNCTION sendonce.move_to_canary(
  campaign bigint, size integer, people bigint[], channels text[], numbers integer[], ids bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own text := sendonce.acting_for();
BEGIN
  UPDATE sendonce.deliveries d
     SET batch_id = b.id, no = (p.ordinal - 1) % size + 1
    FROM unnest(people) WITH ORDINALITY AS p(recipient_no, ordinal),
         unnest(channels, numbers, ids) AS n(channel, no, id)
    JOIN sendonce.batches b ON b.id = n.id AND b.campaign_id = campaign AND b.channel = n.channel
   WHERE d.campaign_id = campaign AND (own IS NULL OR d.namespace = own) AND (own IS NULL OR b.namespace = own)
     AND d.recipient_no = p.recipient_no AND d.channel = n.channel AND n.no = (p.ordinal - 1) / size;
END $$;

-- What goes away again on a worker's way. The right to delete from a table would be the right to lock all of it.
CREATE FUNCTION sendonce.drop_emptied_batches(campaign bigint, among bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own text := sendonce.acting_for();
BEGIN
  DELETE FROM sendonce.batches b
   WHERE b.campaign_id = campaign AND (own IS NULL OR b.namespace = own) AND (among IS NULL OR b.id = ANY (among))
     AND b.kind = 'send' AND b.state = 'pending' AND b.fallback_of IS NULL
     AND b.pending + b.sending + b.sent + b.failed + b.uncertain + b.suppressed + b.expired + b.cancelled = 0;
END $$;

CREATE FUNCTION sendonce.forget_spool(campaign bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own text := sendonce.acting_for();
BEGIN
  DELETE FROM sendonce.import_spool s WHERE s.campaign_id = campaign AND (own IS NULL OR s.namespace = own);
END $$;

-- The pace is written by this function alone. A tenant reserves no further ahead than a worker does, and asks with no
-- higher priority than a campaign of its own that is under way and uses the provider.
ALTER FUNCTION sendonce.lease_slots(bigint, smallint, integer, double precision) RENAME TO take_slots;
CREATE FUNCTION sendonce.lease_slots(
  provider bigint, asker smallint, wanted integer, horizon double precision,
  OUT delays double precision[], OUT valid_for double precision, OUT retry_in double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own text := sendonce.acting_for(provider);
BEGIN
  IF own IS NOT NULL THEN
    wanted := least(wanted, 10000);
    horizon := least(horizon, 1.0);
    PERFORM FROM sendonce.channels ch JOIN sendonce.campaigns c ON c.id = ch.campaign_id
      WHERE ch.provider_id = provider AND ch.namespace = own AND c.priority >= asker AND c.ended IS NULL
      ORDER BY ch.campaign_id DESC LIMIT 1;
    IF NOT FOUND THEN
      asker := 0;
    END IF;
  END IF;
  PERFORM FROM sendonce.pace_shares s WHERE s.provider_id = provider AND s.priority = asker;
  IF NOT FOUND THEN
    INSERT INTO sendonce.pace_shares (provider_id, priority, namespace)
    SELECT p.id, asker, p.namespace FROM sendonce.providers p WHERE p.id = provider
    ON CONFLICT DO NOTHING;
  END IF;
  SELECT t.delays, t.valid_for, t.retry_in INTO delays, valid_for, retry_in
    FROM sendonce.take_slots(provider, asker, wanted, horizon) t;
END $$;

-- Every worker of the provider stands still for as long as the far end asked; if it did not say, for a while that grows
-- while nothing gets through. A pause is never shortened, and answers that were under way when it began do not count
-- again. Of a cluster provider, others read the message too: addresses and numbers in it are masked, and one tenant
-- stops the rest for an hour at most, then somebody has to find out anew. Null: a longer pause is there already.
CREATE FUNCTION sendonce.pause_provider(
  provider bigint, retry_after double precision, first double precision, longest double precision,
  code text, message text) RETURNS double precision
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own text := sendonce.acting_for(provider);
  seconds double precision;
BEGIN
  IF own IS NOT NULL THEN
    first := least(first, 60);
    longest := least(longest, 3600);
  END IF;
  UPDATE sendonce.providers p
     SET paused_until = greatest(p.paused_until, now() + make_interval(secs => coalesce(
           CASE WHEN own IS NOT NULL AND p.namespace = '' AND retry_after > 3600 THEN 3600 ELSE retry_after END,
           least(longest, first * power(2, least(p.pauses_in_row, 20)))))),
         pauses_in_row = p.pauses_in_row + CASE WHEN p.paused_until > now() THEN 0 ELSE 1 END,
         pause_code = left(code, 100), updated_at = now(),
         pause_message = CASE WHEN p.namespace = '' THEN sendonce.masked(message) ELSE message END
   WHERE p.id = provider
     AND (p.paused_until IS NULL OR p.paused_until <= now()
          OR now() + make_interval(secs => coalesce(retry_after, 0)) > p.paused_until)
  RETURNING extract(epoch FROM p.paused_until - now())::float8 INTO seconds;
  RETURN seconds;
END $$;

-- A far end's words without the person they are about.
CREATE FUNCTION sendonce.masked(words text) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT left(regexp_replace(regexp_replace(words, '[^\s<>"''(),;:]+@[^\s<>"''(),;:]+', '***', 'g'),
                             '\+\d(?:[\s().-]{0,2}\d){6,}|\d(?:[\s().-]?\d){8,}', '***', 'g'), 1000)
$$;

-- Whatever a session has in its search path, the functions mean what they say. Not the key's: it is inlined, and a function
-- with settings is not.
DO $$
DECLARE
  one regprocedure;
BEGIN
  FOR one IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'sendonce'::regnamespace
                AND p.proconfig IS NULL AND p.proname <> 'delivery_key' LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, pg_temp', one);
  END LOOP;
END $$;
