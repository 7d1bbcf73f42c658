-- The public gateway (docs/gateway.md): its login, and what it may do; the keys of links in messages.

-- One current key per namespace. A retired one makes no new links, those that it made stay good; a revoked one ends them.
CREATE TABLE sendonce.link_keys (
  id         bytea PRIMARY KEY CHECK (octet_length(id) = 8),   -- stands in each link
  namespace  text NOT NULL,
  key        bytea NOT NULL CHECK (octet_length(key) = 64),    -- stands nowhere else
  created_at timestamptz NOT NULL DEFAULT now(),
  retired_at timestamptz,
  revoked_at timestamptz,
  CONSTRAINT revoked_is_retired CHECK (revoked_at IS NULL OR retired_at IS NOT NULL)
);
CREATE UNIQUE INDEX link_keys_current ON sendonce.link_keys (namespace) WHERE retired_at IS NULL;
ALTER TABLE sendonce.link_keys ENABLE ROW LEVEL SECURITY;

-- What the campaign's links are made with: null until a worker has asked, '' where there are none.
ALTER TABLE sendonce.campaigns ADD COLUMN links_url text CHECK (length(links_url) <= 255);
ALTER TABLE sendonce.campaigns ADD COLUMN links_key bytea REFERENCES sendonce.link_keys;
ALTER TABLE sendonce.campaigns ADD CONSTRAINT links_have_a_key CHECK ((coalesce(links_url, '') = '') = (links_key IS NULL));
-- What has begun without links goes on without them.
UPDATE sendonce.campaigns SET links_url = '' WHERE started_at IS NOT NULL;

-- The namespace's current key; the first who asks makes it. gen_random_uuid() takes 122 bits from the system's own source.
CREATE FUNCTION sendonce.current_link_key(of_namespace text) RETURNS bytea
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO sendonce.link_keys (id, namespace, key)
  SELECT substr(sha256(uuid_send(gen_random_uuid())), 1, 8), of_namespace,
         sha512(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
                || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
   WHERE NOT EXISTS (SELECT FROM sendonce.link_keys k WHERE k.namespace = of_namespace AND k.retired_at IS NULL)
  ON CONFLICT (namespace) WHERE retired_at IS NULL DO NOTHING;
  RETURN (SELECT k.id FROM sendonce.link_keys k WHERE k.namespace = of_namespace AND k.retired_at IS NULL);
END $$;

-- What a campaign's links are made with, for a worker and for the console: `campaign_links`, with the console's login.

-- The gateway's login: one role, named after the database as the tenants' are. It owns no row and reads no table.
CREATE FUNCTION sendonce.gateway_role() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT 'sendonce_gateway_' || left(encode(sha256(convert_to(current_database(), 'UTF8')), 'hex'), 8)
$$;

-- Make it, or give it another password. `verifier` is the password as the server keeps it.
CREATE FUNCTION sendonce.make_gateway_login(verifier text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT sendonce.is_our_role(sendonce.gateway_role(), 'gateway') THEN
    EXECUTE format('CREATE ROLE %I', sendonce.gateway_role());
    EXECUTE format('COMMENT ON ROLE %I IS %L', sendonce.gateway_role(), sendonce.role_comment('gateway'));
  END IF;
  EXECUTE format('ALTER ROLE %I LOGIN PASSWORD %L', sendonce.gateway_role(), verifier);
  RETURN sendonce.gateway_role();
END $$;

-- What the gateway may do; sql/gateway.sql gives it the right to, and to nothing else.

CREATE FUNCTION sendonce.gateway_schema() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT max(m.version) FROM sendonce.schema_migrations m
$$;

-- No row: nobody made it.
CREATE FUNCTION sendonce.gateway_link_key(key_id bytea)
RETURNS TABLE (namespace text, key bytea, revoked boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT k.namespace, k.key, k.revoked_at IS NOT NULL FROM sendonce.link_keys k WHERE k.id = key_id
$$;

-- Null or '' is the whole category. True: it was not so before.
CREATE FUNCTION sendonce.gateway_opt_out(
  of_namespace text, of_channel text, of_address text, of_category text, of_topic text, way text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO sendonce.opt_outs (namespace, channel, address, category, topic, source)
  VALUES (of_namespace, of_channel, of_address, of_category, coalesce(of_topic, ''), way)
  ON CONFLICT DO NOTHING;
  RETURN FOUND;
END $$;

CREATE FUNCTION sendonce.gateway_opt_in(
  of_namespace text, of_channel text, of_address text, of_category text, of_topic text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM sendonce.opt_outs o
   WHERE o.namespace = of_namespace AND o.channel = of_channel AND o.address = of_address
     AND o.category = of_category AND o.topic = coalesce(of_topic, '');
  RETURN FOUND;
END $$;

-- The topics that this person can have heard of, at most 100: of messages that were for the address (as long as there
-- are records of them), and of earlier opt-outs. '' is the whole category, and there only where it was opted out of.
-- Topics of which the person got nothing are nobody's business.
CREATE FUNCTION sendonce.gateway_topics(of_namespace text, of_channel text, of_address text, of_category text)
RETURNS TABLE (topic text, opted_out boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH recent AS (
    SELECT c.id, c.topic FROM sendonce.campaigns c
     WHERE c.namespace = of_namespace AND c.category = of_category AND c.topic IS NOT NULL AND c.data_deleted_at IS NULL
     ORDER BY c.id DESC LIMIT 1000
  ), heard AS (
    SELECT r.topic, false AS opted_out FROM recent r
     WHERE EXISTS (SELECT FROM sendonce.deliveries d
                    WHERE d.campaign_id = r.id AND d.channel = of_channel AND d.address = of_address)
    UNION ALL
    SELECT o.topic, true FROM sendonce.opt_outs o
     WHERE o.namespace = of_namespace AND o.channel = of_channel AND o.address = of_address AND o.category = of_category
  )
  SELECT h.topic, bool_or(h.opted_out) FROM heard h GROUP BY h.topic ORDER BY h.topic LIMIT 100
$$;

-- Tokens with which applications enqueue over HTTP. Of a token itself only its SHA-256 is kept.
CREATE TABLE sendonce.gateway_tokens (
  namespace  text NOT NULL,
  name       text NOT NULL,
  digest     bytea NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (namespace, name)
);
ALTER TABLE sendonce.gateway_tokens ENABLE ROW LEVEL SECURITY;

-- Raises unless the session acts for the namespace: as a login of its applications, as a member of one (an application
-- that has a role of its own in this database), as the store's owner, or as the gateway, which can't call `enqueue`
-- itself, only the function below.
CREATE FUNCTION sendonce.check_application(of_namespace text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM sendonce.tenants t
              WHERE t.namespace = of_namespace AND t.kind = 'application' AND t.retired_at IS NULL
                AND pg_has_role(session_user, to_regrole(quote_ident(t.role)), 'MEMBER'))
     OR session_user = sendonce.gateway_role()
     OR pg_has_role(session_user, (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'sendonce'), 'USAGE') THEN
    RETURN;
  END IF;
  RAISE EXCEPTION 'role % may not enqueue for namespace %', session_user, of_namespace
    USING ERRCODE = 'insufficient_privilege',
          HINT = format('Use the login that `sendonce tenant add %s --application` made, or grant that role to yours.', of_namespace);
END $$;

-- `sendonce.enqueue` for whoever has a token of the namespace. Raises what that raises, and SO108 for any other token.
CREATE FUNCTION sendonce.gateway_enqueue(
  token_digest bytea, of_namespace text, send_key text, idempotency_key text, recipient jsonb) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM sendonce.gateway_tokens t WHERE t.digest = token_digest AND t.namespace = of_namespace) THEN
    RAISE EXCEPTION 'the token is not good for this namespace' USING ERRCODE = 'SO108';
  END IF;
  RETURN sendonce.enqueue(of_namespace, send_key, idempotency_key, recipient);
END $$;

-- Receipts
-- What providers report later (docs/receipts.md). The highest report counts, so that their order does not matter: a bounce
-- for good outranks a delivery, a delivery outranks what was only not delivered at first.
--   0 nothing yet   1 not delivered   2 delivered   3 bounced for good
ALTER TABLE sendonce.deliveries ADD COLUMN receipt smallint NOT NULL DEFAULT 0 CHECK (receipt BETWEEN 0 AND 3);
ALTER TABLE sendonce.deliveries ADD COLUMN receipt_at timestamptz;
-- Deliveries that stand at 2, and at 1 or 3.
ALTER TABLE sendonce.batches ADD COLUMN delivered integer NOT NULL DEFAULT 0;
ALTER TABLE sendonce.batches ADD COLUMN bounced integer NOT NULL DEFAULT 0;
-- When something was reported: moved on every ten seconds at most, for whoever shows the counts of what has ended.
ALTER TABLE sendonce.campaigns ADD COLUMN reported_at timestamptz;
CREATE INDEX campaigns_reported ON sendonce.campaigns (reported_at) WHERE reported_at IS NOT NULL;

-- Events that have done their work, so that one that comes again does nothing; forgotten after a while.
CREATE TABLE sendonce.receipts (
  namespace text NOT NULL,                   -- '' for what a ClusterNotificationProvider reports for all of its namespaces
  provider  text NOT NULL,
  event_id  text COLLATE "C" NOT NULL CHECK (octet_length(event_id) BETWEEN 1 AND 255),
  seen_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (namespace, provider, event_id)
);
CREATE INDEX receipts_seen ON sendonce.receipts (seen_at);
ALTER TABLE sendonce.receipts ENABLE ROW LEVEL SECURITY;

-- The providers of that name that may speak for the namespace; null: there is none.
CREATE FUNCTION sendonce.receipt_providers(of_namespace text, provider_name text) RETURNS bigint[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT array_agg(p.id) FROM sendonce.providers p WHERE p.name = provider_name AND p.namespace IN (of_namespace, '')
$$;

-- Whether the event is a new one. Who asks at the same moment waits until this transaction has ended.
CREATE FUNCTION sendonce.receipt_is_new(of_namespace text, provider_name text, event text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO sendonce.receipts (namespace, provider, event_id) VALUES (of_namespace, provider_name, event)
  ON CONFLICT DO NOTHING;
  RETURN FOUND;
END $$;

-- The delivery that a report is about: by our id in the message's metadata, `batch-no-key`, where `key` is the beginning
-- of the delivery's key, so that another store on the same account never means one of ours; else by the provider's id of
-- the message and its address, through the unique key of deliveries, in the latest campaigns of the provider: an index on
-- message_id would make every result that a worker writes dearer. No row: it is none of ours.
CREATE FUNCTION sendonce.receipt_place(of_namespace text, providers bigint[], delivery text, message text, person text)
RETURNS TABLE (batch bigint, row_no integer)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF delivery ~ '^[0-9]{1,18}-[0-9]{1,9}-[0-9a-f]{8}$' THEN
    RETURN QUERY
    SELECT d.batch_id, d.no FROM sendonce.deliveries d JOIN sendonce.batches b ON b.id = d.batch_id
     WHERE d.batch_id = split_part(delivery, '-', 1)::bigint AND d.no = split_part(delivery, '-', 2)::integer
       AND left(d.key::text, 8) = split_part(delivery, '-', 3)
       AND b.provider_id = ANY (providers) AND of_namespace IN (d.namespace, '');
  ELSIF message IS NOT NULL AND person IS NOT NULL THEN
    RETURN QUERY
    SELECT d.batch_id, d.no
      FROM (SELECT ch.campaign_id, ch.channel FROM sendonce.channels ch
             WHERE ch.provider_id = ANY (providers) AND of_namespace IN (ch.namespace, '')
             ORDER BY ch.campaign_id DESC LIMIT 500) recent
     CROSS JOIN LATERAL (
           SELECT m.batch_id, m.no FROM sendonce.deliveries m
            WHERE m.campaign_id = recent.campaign_id AND m.channel = recent.channel AND m.address = person
              AND m.message_id = message LIMIT 1) d
     LIMIT 1;
  END IF;
END $$;

-- How the end of a finished campaign is told once more of it was sent: as sendonce_store.decisions.verdict tells it.
CREATE FUNCTION sendonce.receipt_retell(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM FROM sendonce.campaigns c WHERE c.id = campaign AND c.ended = 'complete' FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  UPDATE sendonce.campaigns c
     SET ended_reason = CASE WHEN n.undelivered + c.unreachable > 0 THEN 'SomeUndelivered' ELSE 'AllSent' END,
         ended_message = n.sent || ' sent' || CASE WHEN n.undelivered + c.unreachable > 0
           THEN format(', %s not, %s people without an address', n.undelivered, c.unreachable) ELSE '' END
    FROM (SELECT coalesce(sum(b.sent), 0) AS sent,
                 coalesce(sum(b.failed + b.uncertain + b.suppressed + b.expired + b.cancelled), 0) AS undelivered
            FROM sendonce.batches b WHERE b.campaign_id = campaign AND b.kind = 'send') n
   WHERE c.id = campaign AND c.data_deleted_at IS NULL;
END $$;

-- Any report is evidence that the provider took the message: what was open or in doubt is `sent`, and nothing is ever
-- un-sent. Only an answer that was a definite refusal, and a person's word, outrank a report that it was not delivered.
-- The batch is locked. Returns settled, marked (the report is the highest so far) or noted.
CREATE FUNCTION sendonce.receipt_mark(
  d sendonce.deliveries, told_kind text, message text, origin text, told_at timestamptz, told_detail text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  arrived constant boolean := told_kind IN ('accepted', 'delivered', 'complained');
  rank constant smallint := CASE told_kind WHEN 'bounced' THEN 3 WHEN 'delivered' THEN 2 WHEN 'bounced_transient' THEN 1
                                           WHEN 'failed' THEN 1 WHEN 'dropped' THEN 1 ELSE 0 END;
  best constant smallint := greatest(rank, d.receipt);
  settles boolean;
BEGIN
  IF NOT (d.attempt_seq > 0 AND (d.state IN ('sent', 'sending', 'uncertain')
            OR (d.state = 'pending' AND (d.maybe_accepted OR arrived OR told_kind = 'bounced'))
            OR (d.state = 'failed' AND d.maybe_accepted AND arrived))) THEN
    RETURN 'noted';
  END IF;
  settles := d.state IN ('uncertain', 'pending', 'failed');
  IF settles OR best > d.receipt OR (d.state = 'sending' AND NOT d.evidence) THEN
    UPDATE sendonce.deliveries x
       SET evidence = x.evidence OR x.state <> 'sent',
           -- who has it in his hands ends it himself, and evidence outranks his answer
           state = CASE WHEN x.state = 'sending' THEN x.state ELSE 'sent' END,
           reason = CASE WHEN settles THEN NULL ELSE x.reason END,
           message_id = coalesce(x.message_id, message), next_attempt_at = NULL,
           finished_at = CASE WHEN settles THEN now() ELSE x.finished_at END,
           receipt = best, receipt_at = CASE WHEN best > x.receipt THEN told_at ELSE x.receipt_at END
     WHERE x.batch_id = d.batch_id AND x.no = d.no;
  END IF;
  IF best > d.receipt THEN
    UPDATE sendonce.batches b
       SET delivered = b.delivered + (best = 2)::integer - (d.receipt = 2)::integer,
           bounced = b.bounced + (best IN (1, 3))::integer - (d.receipt IN (1, 3))::integer
     WHERE b.id = d.batch_id;
    UPDATE sendonce.campaigns c SET reported_at = now()
     WHERE c.id = d.campaign_id AND (c.reported_at IS NULL OR c.reported_at < now() - interval '10 seconds');
  END IF;
  IF settles THEN
    INSERT INTO sendonce.attempts (namespace, campaign_id, batch_id, no, seq, worker, outcome, late, code, message)
    VALUES (d.namespace, d.campaign_id, d.batch_id, d.no, d.attempt_seq, origin, 'accepted', true, told_kind,
            concat_ws(': ', format('settled by the provider''s report, it was %s', d.state), nullif(told_detail, '')));
    UPDATE sendonce.batches b SET state = 'done' WHERE b.id = d.batch_id AND b.state = 'pending' AND b.pending + b.sending = 0;
    PERFORM sendonce.receipt_retell(d.campaign_id);
  END IF;
  RETURN CASE WHEN settles THEN 'settled' WHEN best > d.receipt THEN 'marked' ELSE 'noted' END;
END $$;

-- What a report says of the person: a bounce for good and a block keep every message from the address, a complaint and an
-- unsubscription keep Marketing from it. Who came back is let in again, but only past what reports had put up before that.
CREATE FUNCTION sendonce.receipt_consent(
  of_namespace text, provider_name text, of_channel text, of_address text, told_kind text, origin text,
  told_at timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  -- no address in the clear: this table outlives the recipients' data
  came_back constant text := 'returned:' || encode(sha256(convert_to(of_channel || chr(31) || of_address, 'UTF8')), 'hex');
BEGIN
  IF told_kind = 'returned' THEN
    INSERT INTO sendonce.receipts AS r (namespace, provider, event_id, seen_at)
    VALUES (of_namespace, provider_name, came_back, told_at)
    ON CONFLICT (namespace, provider, event_id) DO UPDATE SET seen_at = greatest(r.seen_at, excluded.seen_at);
    DELETE FROM sendonce.suppressions s
     WHERE s.namespace = of_namespace AND s.channel = of_channel AND s.address = of_address
       AND s.reason = 'blocked' AND s.source = origin AND s.created_at <= told_at;
    DELETE FROM sendonce.opt_outs o
     WHERE o.namespace = of_namespace AND o.channel = of_channel AND o.address = of_address
       AND o.category = 'Marketing' AND o.topic = '' AND o.source = origin AND o.created_at <= told_at;
  ELSIF told_kind = 'bounced' OR (told_kind IN ('blocked', 'complained', 'unsubscribed') AND NOT EXISTS (
          SELECT FROM sendonce.receipts r WHERE r.namespace = of_namespace AND r.provider = provider_name
                                            AND r.event_id = came_back AND r.seen_at > told_at)) THEN
    -- what somebody else put up stays as it is; of the same provider's reports the latest counts, for a return may follow
    INSERT INTO sendonce.suppressions AS s (namespace, channel, address, reason, source, created_at)
    SELECT of_namespace, of_channel, of_address, told_kind, origin, told_at WHERE told_kind IN ('bounced', 'blocked')
    ON CONFLICT (namespace, channel, address) DO UPDATE SET created_at = excluded.created_at
     WHERE s.source = excluded.source AND s.reason = excluded.reason AND s.created_at < excluded.created_at;
    INSERT INTO sendonce.opt_outs AS o (namespace, channel, address, category, topic, source, created_at)
    SELECT of_namespace, of_channel, of_address, 'Marketing', '', origin, told_at
     WHERE told_kind IN ('complained', 'unsubscribed')
    ON CONFLICT (namespace, channel, address, category, topic) DO UPDATE SET created_at = excluded.created_at
     WHERE o.source = excluded.source AND o.created_at < excluded.created_at;
  END IF;
END $$;

-- Take in one report of a provider. `of_namespace` is the one whose rows it may touch; '' stands for all namespaces that
-- use the cluster provider. A report without a delivery and a message is about the person alone. `once`: the event's id
-- may be used once, whatever came of it. Returns settled, marked, noted, repeated, or unknown: it is about nothing of ours.
CREATE FUNCTION sendonce.gateway_receipt(
  of_namespace text, provider_name text, origin text, told_kind text, event text, delivery text, message text,
  person text, person_channel text, happened_at timestamptz, told_detail text, once boolean) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  providers constant bigint[] := sendonce.receipt_providers(of_namespace, provider_name);
  told_at constant timestamptz := least(coalesce(happened_at, now()), now());
  place record;
  d sendonce.deliveries;
  result text;
  one text;
BEGIN
  IF once AND NOT sendonce.receipt_is_new(of_namespace, provider_name, event) THEN
    RETURN 'repeated';
  END IF;
  IF delivery IS NULL AND message IS NULL THEN
    IF providers IS NULL OR person IS NULL OR person_channel IS NULL THEN
      RETURN 'unknown';
    END IF;
    IF NOT once AND NOT sendonce.receipt_is_new(of_namespace, provider_name, event) THEN
      RETURN 'repeated';
    END IF;
    FOR one IN SELECT of_namespace WHERE of_namespace <> ''
                UNION SELECT ch.namespace FROM sendonce.channels ch
                       WHERE ch.provider_id = ANY (providers) AND of_namespace = '' ORDER BY 1 LOOP
      PERFORM sendonce.receipt_consent(one, provider_name, person_channel, person, told_kind, origin, told_at);
    END LOOP;
    RETURN 'noted';
  END IF;
  SELECT p.batch, p.row_no INTO place FROM sendonce.receipt_place(of_namespace, providers, delivery, message, person) p;
  -- most reports by far, and nothing new: they are neither waited for nor remembered
  IF told_kind = 'accepted' AND NOT once AND EXISTS (
       SELECT FROM sendonce.deliveries x WHERE x.batch_id = place.batch AND x.no = place.row_no AND x.state = 'sent') THEN
    RETURN 'noted';
  END IF;
  -- everybody who writes a delivery holds its batch
  PERFORM FROM sendonce.batches b WHERE b.id = place.batch FOR UPDATE;
  SELECT * INTO d FROM sendonce.deliveries x WHERE x.batch_id = place.batch AND x.no = place.row_no;
  IF NOT FOUND THEN
    RETURN 'unknown';
  END IF;
  IF NOT once AND NOT sendonce.receipt_is_new(of_namespace, provider_name, event) THEN
    RETURN 'repeated';
  END IF;
  result := CASE told_kind WHEN 'returned' THEN 'noted'
                           ELSE sendonce.receipt_mark(d, told_kind, message, origin, told_at, told_detail) END;
  IF result <> 'settled' AND told_kind NOT IN ('accepted', 'delivered', 'returned') THEN
    INSERT INTO sendonce.attempts (namespace, campaign_id, batch_id, no, seq, worker, outcome, message)
    VALUES (d.namespace, d.campaign_id, d.batch_id, d.no, d.attempt_seq, origin, told_kind, nullif(told_detail, ''));
  END IF;
  PERFORM sendonce.receipt_consent(d.namespace, provider_name, d.channel, d.address, told_kind, origin, told_at);
  RETURN result;
END $$;
