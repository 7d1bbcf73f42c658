-- An import: chunk by chunk, under the import batch's token and the campaign row's lock.

-- name: create_stage
CREATE TEMP TABLE IF NOT EXISTS import_stage (
  line bigint, ref text, addresses jsonb, timezone text, locale text, variables jsonb) ON COMMIT DELETE ROWS;

-- name: create_landed
CREATE TEMP TABLE IF NOT EXISTS import_landed (line bigint) ON COMMIT DELETE ROWS;

-- name: create_new_batches
CREATE TEMP TABLE IF NOT EXISTS import_batches (no bigint, id bigint) ON COMMIT DELETE ROWS;

-- name: lock_campaign
-- FOR NO KEY UPDATE: workers that add fallback rows refer to this row and must not wait.
SELECT c.id, c.cancelled_at IS NOT NULL AS cancelled, c.held OR c.rollout_stage = 'importing' AS waits, c.import_state
  FROM sendonce.campaigns c WHERE c.id = %(campaign)s FOR NO KEY UPDATE;

-- name: copy_stage
COPY import_stage (line, ref, addresses, timezone, locale, variables) FROM STDIN;

-- name: number_batches
INSERT INTO import_batches (no, id)
SELECT n, nextval(pg_get_serial_sequence('sendonce.batches', 'id'))
  FROM generate_series(0, (%(rows)s::int - 1) / %(size)s::int) n;

-- name: insert_batches
INSERT INTO sendonce.batches (id, namespace, campaign_id, kind, channel, provider_id, claimable_at)
SELECT n.id, c.namespace, c.id, 'send', %(channel)s, %(provider)s,
       CASE WHEN c.held OR c.rollout_stage = 'importing' THEN 'infinity' ELSE now() END
  FROM import_batches n, sendonce.campaigns c WHERE c.id = %(campaign)s;

-- name: insert_deliveries
-- A person whose address is there already, from an earlier line, is left out: the unique key decides. In the order of
-- lines, so that of two lines for one person the first wins on every channel.
WITH reachable AS (
  SELECT s.line, s.addresses -> %(channel)s ->> 1 AS address, row_number() OVER (ORDER BY s.line) - 1 AS ordinal
    FROM import_stage s
   WHERE s.addresses ? %(channel)s AND (%(instead_of)s::text IS NULL OR NOT s.addresses ? %(instead_of)s)
), landed AS (
  INSERT INTO sendonce.deliveries (batch_id, no, campaign_id, recipient_no, key, namespace, channel, address,
                                   state, reason, next_attempt_at, finished_at)
  SELECT n.id, r.ordinal %% %(size)s + 1, c.id, r.line,
         sendonce.delivery_key(%(store)s, c.namespace, c.send_key, %(channel)s, r.address),
         c.namespace, %(channel)s, r.address,
         CASE WHEN c.cancelled_at IS NULL THEN 'pending' ELSE 'cancelled' END,
         CASE WHEN c.cancelled_at IS NOT NULL THEN 'cancelled' END,
         CASE WHEN c.cancelled_at IS NULL THEN now() END,
         CASE WHEN c.cancelled_at IS NOT NULL THEN now() END
    FROM reachable r
    JOIN import_batches n ON n.no = r.ordinal / %(size)s
    JOIN sendonce.campaigns c ON c.id = %(campaign)s
   ORDER BY r.ordinal
  ON CONFLICT (campaign_id, channel, address) DO NOTHING
  RETURNING recipient_no
)
INSERT INTO import_landed SELECT recipient_no FROM landed;

-- name: finish_batches
-- Batches of duplicates only go away; batches that arrived cancelled are done.
WITH gone AS (
  DELETE FROM sendonce.batches b USING import_batches n
   WHERE b.id = n.id AND b.pending + b.cancelled = 0
)
UPDATE sendonce.batches b SET state = 'done' FROM import_batches n
 WHERE b.id = n.id AND b.pending = 0 AND b.cancelled > 0;

-- name: forget_batches
DELETE FROM import_batches;

-- name: insert_recipients
-- People with a delivery, and people without any address that could be used; the rest are duplicates.
WITH kept AS (
  INSERT INTO sendonce.recipients (campaign_id, no, namespace, ref, addresses, timezone, locale, variables)
  SELECT %(campaign)s, s.line, %(namespace)s, s.ref, s.addresses, s.timezone, s.locale, s.variables
    FROM import_stage s
   WHERE s.line IN (SELECT line FROM import_landed)
      OR NOT s.addresses ?| %(reaching)s::text[]
  RETURNING no, addresses
)
SELECT count(*) AS kept, count(*) FILTER (WHERE NOT addresses ?| %(reaching)s::text[]) AS unreachable FROM kept;

-- name: insert_rejects
INSERT INTO sendonce.import_rejects (campaign_id, line, namespace, field, reason, excerpt)
SELECT %(campaign)s, r.line, %(namespace)s, r.field, r.reason, r.excerpt
  FROM unnest(%(lines)s::bigint[], %(fields)s::text[], %(reasons)s::text[], %(excerpts)s::text[]) AS r(line, field, reason, excerpt);

-- name: count_chunk
UPDATE sendonce.campaigns
   SET total = total + %(kept)s, unreachable = unreachable + %(unreachable)s,
       duplicates = duplicates + %(duplicates)s, rejected = rejected + %(rejected)s,
       import_state = 'running', started_at = coalesce(started_at, now())
 WHERE id = %(campaign)s;

-- name: save_cursor
UPDATE sendonce.batches
   SET cursor = %(cursor)s, claimable_at = now() + make_interval(secs => %(lease)s), heartbeat_at = now(), crashes = 0
 WHERE id = %(batch)s;

-- name: finish_import
UPDATE sendonce.campaigns SET import_state = 'done', import_message = NULL, started_at = coalesce(started_at, now())
 WHERE id = %(campaign)s;

-- name: fail_import
UPDATE sendonce.campaigns SET import_state = 'failed', import_message = %(message)s WHERE id = %(campaign)s;

-- name: end_import_batch
UPDATE sendonce.batches SET state = 'done', lease_token = NULL, worker = NULL WHERE id = %(batch)s;

-- name: delay_import_batch
-- One that is only given back goes before every batch that is due: what it brings has waited for longest.
UPDATE sendonce.batches
   SET state = 'pending', lease_token = NULL, worker = NULL, crashes = 0,
       claimable_at = CASE WHEN %(delay)s::float8 > 0 THEN now() + make_interval(secs => %(delay)s) ELSE to_timestamp(0) END
 WHERE id = %(batch)s;

-- name: note_import_problem
UPDATE sendonce.campaigns SET import_message = %(message)s WHERE id = %(campaign)s;

-- name: forget_spool
DELETE FROM sendonce.import_spool WHERE campaign_id = %(campaign)s;

-- name: copy_spool
COPY sendonce.import_spool (campaign_id, line, namespace, record) FROM STDIN;

-- name: read_spool
SELECT line, record FROM sendonce.import_spool
 WHERE campaign_id = %(campaign)s AND line > %(after)s ORDER BY line LIMIT %(limit)s;

-- name: plan
SELECT ch.channel, ch.provider_id, ch.after_channel, ch.after_no_address
  FROM sendonce.channels ch WHERE ch.campaign_id = %(campaign)s ORDER BY ch.no;
