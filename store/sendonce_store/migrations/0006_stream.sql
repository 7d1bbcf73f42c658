-- Standing campaigns: applications add recipients one by one, inside their own transactions (docs/applications.md).
--
--   sendonce.enqueue(…) ─→ inbox ─→ a worker takes what waits ─→ recipients, deliveries, refused rows

-- A worker of the version before adds fallbacks by the unique key that goes here: what it had handed off when that failed
-- would be uncertain. So nobody may be sending where there are fallbacks.
DO $$
DECLARE
  busy record;
BEGIN
  SELECT c.namespace, c.name INTO busy FROM sendonce.campaigns c
   WHERE c.ended IS NULL
     AND EXISTS (SELECT FROM sendonce.channels h WHERE h.campaign_id = c.id AND h.after_channel IS NOT NULL)
     AND EXISTS (SELECT FROM sendonce.workers w WHERE w.campaign_id = c.id AND w.stopped_at IS NULL
                    AND w.heartbeat_at > now() - interval '2 minutes')
   LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'workers of an earlier version are sending campaign %/%, which has fallbacks', busy.namespace, busy.name
      USING HINT = 'Suspend it until its workers are gone, upgrade, and go on: set spec.suspend to true, later to false.';
  END IF;
END $$;

-- A stream sends once per idempotency key, not once per address: who orders twice is told twice. Elsewhere it is ''.
ALTER TABLE sendonce.deliveries ADD COLUMN occasion text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sendonce.deliveries DROP CONSTRAINT deliveries_campaign_id_channel_address_key;
ALTER TABLE sendonce.deliveries ADD CONSTRAINT deliveries_campaign_id_channel_address_key
  UNIQUE (campaign_id, channel, address, occasion);

ALTER TABLE sendonce.campaigns ADD COLUMN stream boolean NOT NULL DEFAULT false;
ALTER TABLE sendonce.campaigns ADD COLUMN closed_at timestamptz; -- from now on nobody is added; it does not open again

-- One row per stream, for its lock: who enqueues shares it until the end of his transaction, and the import ends under
-- the whole of it. So nobody can commit a recipient that no worker looks for any more.
CREATE TABLE sendonce.streams (
  campaign_id bigint PRIMARY KEY REFERENCES sendonce.campaigns,
  namespace   text NOT NULL,
  finished_at timestamptz                    -- the inbox is closed and empty
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

-- A row stays for as long as the campaign's data: it is what makes a repeated call harmless.
CREATE TABLE sendonce.inbox (
  campaign_id bigint NOT NULL,
  key         text COLLATE "C" NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
  namespace   text NOT NULL,
  no          bigint GENERATED ALWAYS AS IDENTITY, -- the recipient's number; a gap is a transaction that was rolled back
  digest      bytea NOT NULL,                -- SHA-256 of what was enqueued
  recipient   jsonb,                         -- as it was enqueued, until a worker has taken it
  enqueued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (campaign_id, key)
) WITH (fillfactor = 80, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX inbox_waiting ON sendonce.inbox (campaign_id, no) WHERE recipient IS NOT NULL;

-- Logins of applications beside those of workers.
ALTER TABLE sendonce.tenants ADD COLUMN kind text NOT NULL DEFAULT 'worker' CHECK (kind IN ('worker', 'application'));

-- A login of an application owns no row: it sees none.
CREATE OR REPLACE FUNCTION sendonce.own_namespace() RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (SELECT t.namespace FROM sendonce.tenants t
           WHERE t.role = session_user::text AND t.retired_at IS NULL AND t.kind = 'worker');
END $$;

CREATE FUNCTION sendonce.applications_group() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT 'sendonce_apps_' || left(encode(sha256(convert_to(current_database(), 'UTF8')), 'hex'), 8)
$$;

CREATE OR REPLACE FUNCTION sendonce.make_group() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  one record;
BEGIN
  FOR one IN SELECT * FROM (VALUES (sendonce.tenants_group(), 'tenants'),
                                   (sendonce.applications_group(), 'applications')) AS g(name, what) LOOP
    IF NOT sendonce.is_our_role(one.name, one.what) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', one.name);
      EXECUTE format('COMMENT ON ROLE %I IS %L', one.name, sendonce.role_comment(one.what));
    END IF;
  END LOOP;
END $$;

DROP FUNCTION sendonce.make_login(text, text);
DROP FUNCTION sendonce.login_name(text, integer);

-- At most 63 bytes, and no two alike.
CREATE FUNCTION sendonce.login_name(of_namespace text, no integer, kind text DEFAULT 'worker') RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE kind WHEN 'worker' THEN 'sendonce_ns_' ELSE 'sendonce_app_' END || left(of_namespace, 36) || '_'
      || left(encode(sha256(convert_to(current_database() || chr(31) || of_namespace, 'UTF8')), 'hex'), 8) || '_' || no
$$;

-- A login of its own for the namespace, besides those that it has. `verifier` is the password as the server keeps it.
CREATE FUNCTION sendonce.make_login(of_namespace text, verifier text, of_kind text DEFAULT 'worker') RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  next_no integer := (SELECT coalesce(max(t.no), 0) + 1 FROM sendonce.tenants t WHERE t.namespace = of_namespace);
  role_name text := sendonce.login_name(of_namespace, next_no, of_kind);
  what text := format('namespace %s', of_namespace);
BEGIN
  IF sendonce.is_our_role(role_name, what) THEN  -- left by a database of this name that is gone
    EXECUTE format('DROP ROLE %I', role_name);
  END IF;
  EXECUTE format('CREATE ROLE %I LOGIN PASSWORD %L', role_name, verifier);
  EXECUTE format('COMMENT ON ROLE %I IS %L', role_name, sendonce.role_comment(what));
  EXECUTE format('GRANT %I TO %I', CASE of_kind WHEN 'worker' THEN sendonce.tenants_group()
                                   ELSE sendonce.applications_group() END, role_name);
  INSERT INTO sendonce.tenants (role, namespace, no, kind) VALUES (role_name, of_namespace, next_no, of_kind);
  RETURN role_name;
END $$;

ALTER TABLE sendonce.streams ENABLE ROW LEVEL SECURITY;
ALTER TABLE sendonce.inbox ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON sendonce.streams USING (namespace = (SELECT sendonce.own_namespace()));
CREATE POLICY own ON sendonce.inbox USING (namespace = (SELECT sendonce.own_namespace()));

-- Who may enqueue, `check_application`, is said with the gateway's login.

-- What can be said of a recipient before a worker has looked at the addresses themselves. Raises SO106.
CREATE FUNCTION sendonce.check_recipient(of_campaign bigint, recipient jsonb) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wanted text;
BEGIN
  IF recipient IS NULL OR jsonb_typeof(recipient) <> 'object' THEN
    RAISE EXCEPTION 'the recipient is no JSON object' USING ERRCODE = 'SO106',
      HINT = 'Pass one such as {"email": "ada@example.com", "name": "Ada"}: the fields of a line of NDJSON.';
  END IF;
  IF octet_length(recipient::text) > 65536 THEN
    RAISE EXCEPTION 'the recipient is larger than 64 KiB' USING ERRCODE = 'SO106',
      HINT = 'Pass what the template needs, and a link to the rest.';
  END IF;
  -- the column of a channel's address: sendonce_store.spec.channels
  SELECT string_agg(CASE ch.channel WHEN 'SMS' THEN 'phone' ELSE lower(ch.channel) END, ', ' ORDER BY ch.no) INTO wanted
    FROM sendonce.channels ch WHERE ch.campaign_id = of_campaign;
  IF NOT EXISTS (SELECT FROM jsonb_each(recipient) f
                  WHERE lower(btrim(f.key)) = ANY (string_to_array(wanted, ', '))
                    AND jsonb_typeof(f.value) = 'string' AND btrim(f.value #>> '{}') <> '') THEN
    RAISE EXCEPTION 'the recipient has no address for a channel of the campaign' USING ERRCODE = 'SO106',
      HINT = format('Give one of these fields, as a string: %s.', wanted);
  END IF;
END $$;

-- Add a recipient to a standing campaign, in the caller's transaction: with its rollback nothing is left. Returns the
-- recipient's number, for the same key and recipient the same one again, also after the stream was closed.
-- Raises: SO101 no such campaign, SO102 no stream, SO103 closed, SO104 cancelled, SO105 the key with another recipient,
-- SO106 no such recipient can be sent to, SO107 no usable key; 42501 not for this role.
CREATE FUNCTION sendonce.enqueue(namespace text, send_key text, idempotency_key text, recipient jsonb) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  campaign record;
  earlier record;
  ticket bigint;
  content bytea := sha256(convert_to(recipient::text, 'UTF8'));
BEGIN
  PERFORM sendonce.check_application(enqueue.namespace);
  IF coalesce(octet_length(idempotency_key), 0) NOT BETWEEN 1 AND 255 THEN
    RAISE EXCEPTION 'the idempotency key has % bytes', coalesce(octet_length(idempotency_key), 0) USING ERRCODE = 'SO107',
      HINT = 'Use 1 to 255 bytes that name the occasion, such as order-4711-shipped.';
  END IF;
  SELECT c.id, c.stream, c.cancelled_at, c.ended,
         coalesce(c.closed_at IS NOT NULL OR c.deadline <= clock_timestamp(), false) OR c.ended IS NOT NULL AS closed
    INTO campaign FROM sendonce.campaigns c
   WHERE c.namespace = enqueue.namespace AND c.send_key = enqueue.send_key;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no campaign with send key % in namespace %', enqueue.send_key, enqueue.namespace
      USING ERRCODE = 'SO101', HINT = 'Apply a NotificationCampaign with recipients.stream first; its send key is its name unless it has another.';
  END IF;
  IF NOT campaign.stream THEN
    RAISE EXCEPTION 'campaign % has its recipients from elsewhere', enqueue.send_key USING ERRCODE = 'SO102',
      HINT = 'Only a campaign with `recipients: {stream: {}}` can be added to.';
  END IF;
  SELECT i.no, i.digest INTO earlier FROM sendonce.inbox i WHERE i.campaign_id = campaign.id AND i.key = idempotency_key;
  IF NOT FOUND THEN
    IF campaign.cancelled_at IS NOT NULL THEN
      RAISE EXCEPTION 'campaign % was cancelled', enqueue.send_key USING ERRCODE = 'SO104',
        HINT = 'Make a campaign with another send key, and enqueue there.';
    END IF;
    PERFORM sendonce.check_recipient(campaign.id, recipient);
    PERFORM FROM sendonce.streams s WHERE s.campaign_id = campaign.id AND s.finished_at IS NULL FOR SHARE;
    IF NOT FOUND OR campaign.closed THEN
      RAISE EXCEPTION 'campaign % is closed', enqueue.send_key USING ERRCODE = 'SO103',
        HINT = 'Make a campaign with another send key, and enqueue there.';
    END IF;
    INSERT INTO sendonce.inbox (campaign_id, key, namespace, digest, recipient)
    VALUES (campaign.id, idempotency_key, enqueue.namespace, content, enqueue.recipient)
    ON CONFLICT (campaign_id, key) DO NOTHING RETURNING inbox.no INTO ticket;
    IF ticket IS NOT NULL THEN
      RETURN ticket;
    END IF;
    -- somebody else was first, and has committed
    SELECT i.no, i.digest INTO earlier FROM sendonce.inbox i WHERE i.campaign_id = campaign.id AND i.key = idempotency_key;
  END IF;
  IF earlier.digest IS DISTINCT FROM content THEN
    RAISE EXCEPTION 'idempotency key % was used for another recipient', idempotency_key USING ERRCODE = 'SO105',
      HINT = 'A key stands for one message: use the same content for a repeat, another key for another message.';
  END IF;
  RETURN earlier.no;
END $$;
