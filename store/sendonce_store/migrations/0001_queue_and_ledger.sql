-- The queue and the ledger. Every table carries its namespace, so that row-level security can be put on it.
-- docs/store.md says why each index exists. Times are the database's own. An address is compared, never sorted for
-- people to read: COLLATE "C" makes that cheap whatever the locale of the database.
CREATE SCHEMA IF NOT EXISTS sendonce;

-- One row: the identity that goes into every idempotency key. A restored copy keeps it, another store has another.
CREATE TABLE sendonce.store (
  singleton   boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  id          uuid NOT NULL DEFAULT gen_random_uuid(),
  created_at  timestamptz NOT NULL DEFAULT now()
);
INSERT INTO sendonce.store DEFAULT VALUES;

-- The key of one delivery: the same for every attempt, for every worker and after a restore. STABLE, as convert_to is: a
-- function that claims more than its body would be called row by row instead of being inlined.
CREATE FUNCTION sendonce.delivery_key(store_id uuid, namespace text, send_key text, channel text, address text)
RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT encode(substr(sha256(convert_to(
    store_id::text || chr(31) || namespace || chr(31) || send_key || chr(31) || channel || chr(31) || address,
    'UTF8')), 1, 16), 'hex')::uuid
$$;

CREATE TABLE sendonce.providers (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  namespace     text NOT NULL,              -- '' for a ClusterNotificationProvider
  kind          text NOT NULL CHECK (kind IN ('NotificationProvider', 'ClusterNotificationProvider')),
  name          text NOT NULL,
  spec          jsonb NOT NULL,
  suspended     boolean NOT NULL DEFAULT false,
  paused_until  timestamptz,
  pause_code    text,
  pause_message text,
  pauses_in_row integer NOT NULL DEFAULT 0, -- a success sets it to 0: the pause grows while nothing gets through
  updated_at    timestamptz NOT NULL DEFAULT now(),
  UNIQUE (namespace, kind, name)
) WITH (fillfactor = 70);

-- One generic-cell-rate row per limit: tat is the theoretical arrival time of the next message.
CREATE TABLE sendonce.pace_limits (
  provider_id    bigint NOT NULL REFERENCES sendonce.providers ON DELETE CASCADE,
  no             integer NOT NULL,
  namespace      text NOT NULL,
  messages       integer NOT NULL CHECK (messages > 0),
  period_seconds integer NOT NULL CHECK (period_seconds > 0),
  burst          integer NOT NULL CHECK (burst > 0),
  tat            timestamptz NOT NULL DEFAULT '-infinity',
  PRIMARY KEY (provider_id, no)
) WITH (fillfactor = 30, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

-- Who asked for slots of late and went without: while a higher priority is waiting, a lower one gets a tenth.
CREATE TABLE sendonce.pace_shares (
  provider_id bigint NOT NULL REFERENCES sendonce.providers ON DELETE CASCADE,
  priority    smallint NOT NULL,
  namespace   text NOT NULL,
  wanting_at  timestamptz NOT NULL DEFAULT '-infinity',
  tat         timestamptz NOT NULL DEFAULT '-infinity',
  PRIMARY KEY (provider_id, priority)
) WITH (fillfactor = 30, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

CREATE TABLE sendonce.campaigns (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  namespace       text NOT NULL,
  send_key        text NOT NULL,
  name            text NOT NULL,
  owner_uid       text,                      -- the Kubernetes object that acts for it now
  generation      bigint NOT NULL DEFAULT 1,
  content_hash    text NOT NULL,
  spec            jsonb NOT NULL,            -- frozen content plus the fields that may still change
  category        text NOT NULL,
  topic           text,
  priority        smallint NOT NULL DEFAULT 1 CHECK (priority BETWEEN 0 AND 2),
  start_at        timestamptz,
  deadline        timestamptz,
  suspended       boolean NOT NULL DEFAULT false,
  halt_reason     text,                      -- stopped until a person resumes
  halt_message    text,
  cancelled_at    timestamptz,
  import_state    text NOT NULL DEFAULT 'pending' CHECK (import_state IN ('pending', 'running', 'done', 'failed')),
  import_message  text,
  held            boolean NOT NULL DEFAULT false,  -- first hand-off waits for the whole import
  rollout_stage   text NOT NULL DEFAULT 'none' CHECK (rollout_stage IN ('none', 'importing', 'canary', 'observing', 'awaiting', 'promoted')),
  rollout_since   timestamptz,
  base_failed     bigint NOT NULL DEFAULT 0, -- the breaker counts from here (start or last Resume)
  base_final      bigint NOT NULL DEFAULT 0,
  total           bigint NOT NULL DEFAULT 0, -- people; lines read = total + duplicates + rejected
  duplicates      bigint NOT NULL DEFAULT 0,
  rejected        bigint NOT NULL DEFAULT 0,
  unreachable     bigint NOT NULL DEFAULT 0,
  created_at      timestamptz NOT NULL DEFAULT now(),
  started_at      timestamptz,
  ended           text CHECK (ended IN ('complete', 'failed')),
  ended_reason    text,
  ended_message   text,
  completed_at    timestamptz,
  final_counts    jsonb,                     -- kept when the recipients' data goes
  data_deleted_at timestamptz,
  UNIQUE (namespace, send_key),
  CHECK ((ended IS NULL) = (completed_at IS NULL)),
  CHECK ((halt_reason IS NULL) = (halt_message IS NULL)),
  CHECK (data_deleted_at IS NULL OR ended IS NOT NULL)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.05);

-- The campaign's channels in order, with the provider of each; a channel with `after` gets what the other one left.
CREATE TABLE sendonce.channels (
  campaign_id   bigint NOT NULL REFERENCES sendonce.campaigns,
  channel       text NOT NULL,
  namespace     text NOT NULL,
  no            integer NOT NULL,
  provider_id   bigint NOT NULL REFERENCES sendonce.providers,
  after_channel text,
  after_states  text[] NOT NULL DEFAULT '{}',      -- delivery states that make it go on here
  after_no_address boolean NOT NULL DEFAULT false, -- so does a person without an address for the other channel
  PRIMARY KEY (campaign_id, channel)
);

-- No foreign key here and on deliveries: it would be checked row by row, and they are only written under the campaign's
-- lock or behind a batch's lease.
CREATE TABLE sendonce.recipients (
  campaign_id bigint NOT NULL,
  no          bigint NOT NULL,               -- the line it came from
  namespace   text NOT NULL,
  ref         text,                          -- the sender's own id
  addresses   jsonb NOT NULL,                -- channel -> [as given, normalised]
  timezone    text,
  locale      text,
  variables   jsonb NOT NULL,
  PRIMARY KEY (campaign_id, no)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX recipients_by_ref ON sendonce.recipients (campaign_id, ref) WHERE ref IS NOT NULL;

CREATE TABLE sendonce.batches (
  id           bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  namespace    text NOT NULL,
  campaign_id  bigint NOT NULL REFERENCES sendonce.campaigns,
  kind         text NOT NULL CHECK (kind IN ('import', 'send')),
  channel      text,
  provider_id  bigint REFERENCES sendonce.providers,
  stage        text NOT NULL DEFAULT 'main' CHECK (stage IN ('canary', 'main')),
  fallback_of  bigint,                       -- the batch whose ended rows go on here, over another channel
  state        text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'leased', 'done')),
  claimable_at timestamptz NOT NULL,         -- pending: when due; leased: when the lease ends; infinity: held
  lease_token  uuid,
  worker       text,
  leased_at    timestamptz,
  heartbeat_at timestamptz,
  claims       integer NOT NULL DEFAULT 0,
  crashes      integer NOT NULL DEFAULT 0,   -- leases in a row that ended without a release
  cursor       jsonb,                        -- an import's position
  pending      integer NOT NULL DEFAULT 0,
  sending      integer NOT NULL DEFAULT 0,
  sent         integer NOT NULL DEFAULT 0,
  failed       integer NOT NULL DEFAULT 0,
  uncertain    integer NOT NULL DEFAULT 0,
  suppressed   integer NOT NULL DEFAULT 0,
  expired      integer NOT NULL DEFAULT 0,
  cancelled    integer NOT NULL DEFAULT 0,
  UNIQUE (fallback_of, channel),
  CHECK ((state = 'leased') = (lease_token IS NOT NULL)),
  CHECK ((lease_token IS NULL) = (worker IS NULL)),
  CHECK (kind = 'import' OR (channel IS NOT NULL AND provider_id IS NOT NULL)),
  CONSTRAINT no_done_batch_with_an_open_row CHECK (state <> 'done' OR pending + sending = 0)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX batches_to_claim ON sendonce.batches (campaign_id, claimable_at) WHERE state <> 'done';
CREATE INDEX batches_of_campaign ON sendonce.batches (campaign_id);

CREATE TABLE sendonce.deliveries (
  batch_id          bigint NOT NULL,
  no                integer NOT NULL,
  campaign_id       bigint NOT NULL,
  recipient_no      bigint NOT NULL,
  key               uuid NOT NULL,
  key_first_used_at timestamptz,
  first_attempt_at  timestamptz,
  last_attempt_at   timestamptz,
  next_attempt_at   timestamptz,
  finished_at       timestamptz,
  attempt_seq       integer NOT NULL DEFAULT 0,   -- grows with each `sending` commit, never reset
  tries             smallint NOT NULL DEFAULT 0,  -- of the retry budget; a person's Retry resets it
  maybe_accepted    boolean NOT NULL DEFAULT false,
  evidence          boolean NOT NULL DEFAULT false, -- an acceptance came in late
  resend_ordered    boolean NOT NULL DEFAULT false, -- a person took the risk of a repeat, for one attempt
  namespace         text NOT NULL,
  channel           text COLLATE "C" NOT NULL,
  address           text COLLATE "C" NOT NULL,   -- normalised: who this is, not how it is written
  state             text NOT NULL DEFAULT 'pending',
  reason            text,
  code              text,
  error             text,                        -- the far end's own words
  message_id        text,
  worker            text,                        -- who made the last attempt
  digest            bytea,                       -- of the content that was handed off
  PRIMARY KEY (batch_id, no),
  UNIQUE (campaign_id, channel, address),
  CONSTRAINT deliveries_state CHECK (state IN
    ('pending', 'sending', 'sent', 'failed', 'uncertain', 'suppressed', 'expired', 'cancelled')),
  CONSTRAINT pending_has_a_time CHECK ((state = 'pending') = (next_attempt_at IS NOT NULL)),
  CONSTRAINT final_has_an_end CHECK ((state IN ('pending', 'sending')) = (finished_at IS NULL)),
  CONSTRAINT sending_has_an_attempt CHECK (state <> 'sending' OR (attempt_seq > 0 AND last_attempt_at IS NOT NULL AND worker IS NOT NULL)),
  CONSTRAINT uncertain_was_handed_off CHECK (state <> 'uncertain' OR (maybe_accepted AND attempt_seq > 0)),
  CONSTRAINT sent_was_handed_off CHECK (state <> 'sent' OR attempt_seq > 0),
  -- once an attempt may have been accepted, only a person may say that it was not
  CONSTRAINT maybe_accepted_never_ends_as_unsent CHECK (NOT maybe_accepted
    OR state IN ('pending', 'sending', 'sent', 'uncertain') OR (state = 'failed' AND reason = 'resolved')),
  CONSTRAINT failed_has_a_reason CHECK (state <> 'failed' OR (reason IS NOT NULL AND reason IN
    ('permanent', 'retries_exhausted', 'render_error', 'invalid_recipient', 'resolved', 'poison')))
) WITH (fillfactor = 35, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);

-- Every attempt that did not simply end as sent, and every late answer. A plain success is told by the delivery itself.
CREATE TABLE sendonce.attempts (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  namespace   text NOT NULL,
  campaign_id bigint NOT NULL,
  batch_id    bigint NOT NULL,
  no          integer NOT NULL,
  seq         integer NOT NULL,
  worker      text NOT NULL,
  at          timestamptz NOT NULL DEFAULT now(),
  outcome     text NOT NULL,                  -- accepted, permanent, temporary, rate_limited, account, unknown, recovered, …
  late        boolean NOT NULL DEFAULT false,
  code        text,
  message     text
);
CREATE INDEX attempts_of_delivery ON sendonce.attempts (batch_id, no);
CREATE INDEX attempts_of_campaign ON sendonce.attempts (campaign_id, id);

CREATE TABLE sendonce.import_rejects (
  campaign_id bigint NOT NULL REFERENCES sendonce.campaigns,
  line        bigint NOT NULL,
  namespace   text NOT NULL,
  field       text NOT NULL,
  reason      text NOT NULL,
  excerpt     text NOT NULL,
  PRIMARY KEY (campaign_id, line)
);

-- The result of a query on another database, kept until it is imported: a query can't be resumed, a table can.
CREATE TABLE sendonce.import_spool (
  campaign_id bigint NOT NULL REFERENCES sendonce.campaigns,
  line        bigint NOT NULL,
  namespace   text NOT NULL,
  record      jsonb NOT NULL,
  PRIMARY KEY (campaign_id, line)
);

CREATE TABLE sendonce.workers (
  id           text PRIMARY KEY,              -- unique per process start, never only a pod's name
  namespace    text NOT NULL,
  campaign_id  bigint NOT NULL REFERENCES sendonce.campaigns,
  started_at   timestamptz NOT NULL DEFAULT now(),
  heartbeat_at timestamptz NOT NULL DEFAULT now(),
  stopped_at   timestamptz,
  problem      text                           -- why it cannot send: a missing Secret, say
) WITH (fillfactor = 50);
CREATE INDEX workers_of_campaign ON sendonce.workers (campaign_id);

-- Hard: a bounce, a complaint, a block. Holds for every category, transactional too.
CREATE TABLE sendonce.suppressions (
  namespace  text NOT NULL,
  channel    text COLLATE "C" NOT NULL,
  address    text COLLATE "C" NOT NULL,
  reason     text NOT NULL CHECK (reason IN ('bounced', 'complained', 'blocked')),
  source     text,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (namespace, channel, address)
);

-- A person's wish, for a category or for one topic of it ('' is the whole category).
CREATE TABLE sendonce.opt_outs (
  namespace  text NOT NULL,
  channel    text COLLATE "C" NOT NULL,
  address    text COLLATE "C" NOT NULL,
  category   text NOT NULL,
  topic      text NOT NULL DEFAULT '',
  source     text,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (namespace, channel, address, category, topic)
);

CREATE TABLE sendonce.actions (
  campaign_id bigint NOT NULL REFERENCES sendonce.campaigns,
  name        text NOT NULL,
  namespace   text NOT NULL,
  type        text NOT NULL,
  spec        jsonb NOT NULL,
  matched     bigint NOT NULL DEFAULT 0,
  changed     bigint NOT NULL DEFAULT 0,
  message     text,
  after_batch bigint NOT NULL DEFAULT 0,   -- an action that dies goes on behind this batch
  started_at  timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,
  PRIMARY KEY (campaign_id, name)
);

-- The guard of every write that a worker makes: the batch row, locked by id and lease token for the rest of the
-- transaction. It raises, so that what was sent behind it in the same pipeline is undone as well.
CREATE FUNCTION sendonce.hold_lease(batch bigint, token uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM sendonce.batches WHERE id = batch AND lease_token = token FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the lease of batch % is lost', batch USING ERRCODE = 'SO001';
  END IF;
END $$;

-- Reserve up to `wanted` slots that come due within `horizon` seconds. Slot k may be used from delays[k] seconds after the
-- answer, for valid_for seconds. Half of each limit's burst is given out ahead; the other half covers how late a slot
-- may be used, so that no window of t seconds sees more than rate * t + burst. While a higher priority goes without, a
-- lower one is held to a tenth of the pace, but may reserve further ahead: it gets that tenth for certain.
CREATE FUNCTION sendonce.lease_slots(
  provider bigint, asker smallint, wanted integer, horizon double precision,
  OUT delays double precision[], OUT valid_for double precision, OUT retry_in double precision)
LANGUAGE plpgsql AS $$
DECLARE
  t timestamptz;
  contended boolean;
  granted integer;
BEGIN
  PERFORM 1 FROM sendonce.pace_limits l WHERE l.provider_id = provider ORDER BY l.no FOR UPDATE;
  t := clock_timestamp();
  SELECT EXISTS (SELECT FROM sendonce.pace_shares s WHERE s.provider_id = provider AND s.priority > asker
                    AND s.wanting_at > t - interval '2 seconds') INTO contended;
  WITH limits AS (
    SELECT l.burst, l.period_seconds::float8 / l.messages AS step, (l.burst + 1) / 2 AS ahead,
           extract(epoch FROM greatest(l.tat, t) - t)::float8 AS backlog
      FROM sendonce.pace_limits l WHERE l.provider_id = provider
    UNION ALL
    SELECT 2, 10 * max(l.period_seconds::float8 / l.messages), 1, extract(epoch FROM greatest(s.tat, t) - t)::float8
      FROM sendonce.pace_shares s JOIN sendonce.pace_limits l ON l.provider_id = s.provider_id
     WHERE contended AND s.provider_id = provider AND s.priority = asker GROUP BY s.tat
  ), slots AS (
    SELECT k, greatest(0, max(l.backlog + (k - l.ahead) * l.step)) AS delay
      FROM generate_series(1, wanted) k LEFT JOIN limits l ON true GROUP BY k
  )
  SELECT coalesce(array_agg(delay ORDER BY k) FILTER (WHERE delay <= horizon * CASE WHEN contended THEN 4 ELSE 1 END), '{}'),
         (SELECT coalesce(min(greatest((burst - ahead) * step, step / 2)), 'infinity') FROM limits),
         greatest(min(delay) - horizon / 2, 0.005)
    INTO delays, valid_for, retry_in FROM slots;
  granted := cardinality(delays);
  UPDATE sendonce.pace_limits l
     SET tat = greatest(l.tat, t) + make_interval(secs => granted * l.period_seconds::float8 / l.messages)
   WHERE l.provider_id = provider AND granted > 0;
  UPDATE sendonce.pace_shares s
     SET wanting_at = CASE WHEN granted < wanted THEN t ELSE s.wanting_at END,
         tat = CASE WHEN contended THEN greatest(s.tat, t) + make_interval(secs => granted * 10 * (
           SELECT max(l.period_seconds::float8 / l.messages) FROM sendonce.pace_limits l WHERE l.provider_id = provider))
           ELSE s.tat END
   WHERE s.provider_id = provider AND s.priority = asker;
END $$;

-- A batch's counters follow its rows in the same transaction, whoever writes them.
CREATE FUNCTION sendonce.count_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE sendonce.batches b
     SET pending = b.pending + n.pending, cancelled = b.cancelled + n.cancelled
    FROM (SELECT batch_id, count(*) FILTER (WHERE state = 'pending') AS pending,
                 count(*) FILTER (WHERE state = 'cancelled') AS cancelled
            FROM new_rows GROUP BY batch_id) n
   WHERE b.id = n.batch_id;
  RETURN NULL;
END $$;
CREATE TRIGGER count_inserted AFTER INSERT ON sendonce.deliveries
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION sendonce.count_inserted();

CREATE FUNCTION sendonce.count_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE sendonce.batches b
     SET pending = b.pending + n.pending, sending = b.sending + n.sending, sent = b.sent + n.sent,
         failed = b.failed + n.failed, uncertain = b.uncertain + n.uncertain,
         suppressed = b.suppressed + n.suppressed, expired = b.expired + n.expired,
         cancelled = b.cancelled + n.cancelled
    FROM (SELECT batch_id,
                 coalesce(sum(by) FILTER (WHERE state = 'pending'), 0) AS pending,
                 coalesce(sum(by) FILTER (WHERE state = 'sending'), 0) AS sending,
                 coalesce(sum(by) FILTER (WHERE state = 'sent'), 0) AS sent,
                 coalesce(sum(by) FILTER (WHERE state = 'failed'), 0) AS failed,
                 coalesce(sum(by) FILTER (WHERE state = 'uncertain'), 0) AS uncertain,
                 coalesce(sum(by) FILTER (WHERE state = 'suppressed'), 0) AS suppressed,
                 coalesce(sum(by) FILTER (WHERE state = 'expired'), 0) AS expired,
                 coalesce(sum(by) FILTER (WHERE state = 'cancelled'), 0) AS cancelled
            FROM (SELECT batch_id, state, count(*) AS by FROM new_rows GROUP BY batch_id, state
                  UNION ALL SELECT batch_id, state, -count(*) FROM old_rows GROUP BY batch_id, state) moved
           GROUP BY batch_id) n
   WHERE b.id = n.batch_id;
  RETURN NULL;
END $$;
CREATE TRIGGER count_updated AFTER UPDATE ON sendonce.deliveries
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION sendonce.count_updated();
