-- An import: chunk by chunk, under the import batch's token and the campaign row's lock.

-- name: hold_lease
SELECT sendonce.hold_lease(%(batch)s, %(token)s);

-- name: lock_campaign
-- FOR NO KEY UPDATE: workers that add fallback rows refer to this row and must not wait. `now`: microseconds since 2000.
-- `restored_to`: what was done after this time was lost with the database.
SELECT c.cancelled_at IS NOT NULL AS cancelled,
       (SELECT min((a.spec ->> 'point')::timestamptz) FROM sendonce.actions a
         WHERE a.campaign_id = c.id AND a.type = 'Restored') AS restored_to,
       (extract(epoch FROM now() - timestamptz '2000-01-01 00:00:00Z') * 1000000)::bigint AS now
  FROM sendonce.campaigns c WHERE c.id = %(campaign)s FOR NO KEY UPDATE;

-- name: known_addresses
-- PostgreSQL 17 goes through a list of keys in one pass over the index.
SELECT d.address FROM sendonce.deliveries d
 WHERE d.campaign_id = %(campaign)s AND d.channel = %(channel)s AND d.address = ANY (%(addresses)s::text[]);

-- name: known_addresses_one_by_one
-- Before, a planner that knows little of a new campaign might read all of it for each chunk.
SELECT a.address FROM unnest(%(addresses)s::text[]) AS a(address)
 CROSS JOIN LATERAL (
   SELECT FROM sendonce.deliveries d
    WHERE d.campaign_id = %(campaign)s AND d.channel = %(channel)s AND d.address = a.address LIMIT 1) known;

-- name: insert_batches
INSERT INTO sendonce.batches (namespace, campaign_id, kind, channel, provider_id, claimable_at)
SELECT c.namespace, c.id, 'send', %(channel)s, %(provider)s,
       CASE WHEN c.held OR c.rollout_stage = 'importing' THEN 'infinity' ELSE now() END
  FROM sendonce.campaigns c, generate_series(1, %(count)s::int) WHERE c.id = %(campaign)s
RETURNING id;

-- name: copy_deliveries
-- No ON CONFLICT: who is there already was left out, and the unique key refuses what came between.
COPY sendonce.deliveries (campaign_id, namespace, channel, state, reason, next_attempt_at, finished_at, batch_id, no,
                          recipient_no, key, address) FROM STDIN (FORMAT binary);

-- name: copy_recipients
COPY sendonce.recipients (campaign_id, namespace, no, ref, addresses, timezone, locale, variables, quiet, prefers)
FROM STDIN (FORMAT binary);

-- name: stage_deliveries
-- COPY is refused where row-level security holds: a tenant's rows go by way of a table of its session.
CREATE TEMP TABLE IF NOT EXISTS staged_deliveries (LIKE sendonce.deliveries INCLUDING DEFAULTS) ON COMMIT DELETE ROWS;

-- name: stage_recipients
CREATE TEMP TABLE IF NOT EXISTS staged_recipients (LIKE sendonce.recipients) ON COMMIT DELETE ROWS;

-- name: copy_staged_deliveries
COPY staged_deliveries (campaign_id, namespace, channel, state, reason, next_attempt_at, finished_at, batch_id, no,
                        recipient_no, key, address) FROM STDIN (FORMAT binary);

-- name: copy_staged_recipients
COPY staged_recipients (campaign_id, namespace, no, ref, addresses, timezone, locale, variables, quiet, prefers)
FROM STDIN (FORMAT binary);

-- name: land_deliveries
INSERT INTO sendonce.deliveries (campaign_id, namespace, channel, state, reason, next_attempt_at, finished_at, batch_id, no,
                                 recipient_no, key, address)
SELECT campaign_id, namespace, channel, state, reason, next_attempt_at, finished_at, batch_id, no, recipient_no, key, address
  FROM staged_deliveries;

-- name: land_recipients
INSERT INTO sendonce.recipients (campaign_id, namespace, no, ref, addresses, timezone, locale, variables, quiet, prefers)
SELECT campaign_id, namespace, no, ref, addresses, timezone, locale, variables, quiet, prefers FROM staged_recipients;

-- name: finish_batches
-- What arrived cancelled is done.
UPDATE sendonce.batches SET state = 'done' WHERE id = ANY (%(batches)s);

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
SELECT sendonce.forget_spool(%(campaign)s);

-- name: add_to_spool
INSERT INTO sendonce.import_spool (campaign_id, line, namespace, record)
SELECT %(campaign)s, %(first)s::bigint + n.place - 1, %(namespace)s, n.record::jsonb
  FROM unnest(%(records)s::text[]) WITH ORDINALITY AS n(record, place);

-- name: read_spool
SELECT line, record FROM sendonce.import_spool
 WHERE campaign_id = %(campaign)s AND line > %(after)s ORDER BY line LIMIT %(limit)s;

-- name: plan
-- A fallback is for those without an address for the channel before, if `NoAddress` leads to it, and for those who
-- prefer it.
SELECT c.namespace, c.send_key, ch.channel, ch.provider_id, ch.after_channel, ch.after_no_address,
       ARRAY(SELECT f.channel FROM sendonce.channels f
              WHERE f.campaign_id = ch.campaign_id
                AND coalesce(f.after_channel, f.channel) = coalesce(ch.after_channel, ch.channel)) AS family,
       row_security_active('sendonce.deliveries') AS bound
  FROM sendonce.campaigns c
  LEFT JOIN sendonce.channels ch ON ch.campaign_id = c.id
 WHERE c.id = %(campaign)s ORDER BY ch.no;
