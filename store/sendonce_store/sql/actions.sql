-- What a person orders: retry, resolve, suppress, promote, resume. Applied once per (campaign, name).

-- name: begin_action
INSERT INTO sendonce.actions (campaign_id, name, namespace, type, spec)
VALUES (%(campaign)s, %(name)s, %(namespace)s, %(type)s, %(spec)s)
ON CONFLICT (campaign_id, name) DO NOTHING;

-- name: read_action
SELECT type, spec, matched, changed, message, after_batch, finished_at FROM sendonce.actions
 WHERE campaign_id = %(campaign)s AND name = %(name)s;

-- name: finish_action
UPDATE sendonce.actions SET finished_at = now(), message = %(message)s
 WHERE campaign_id = %(campaign)s AND name = %(name)s;

-- name: count_action
UPDATE sendonce.actions
   SET matched = matched + %(matched)s, changed = changed + %(changed)s, after_batch = %(batch)s
 WHERE campaign_id = %(campaign)s AND name = %(name)s;

-- name: next_batch
-- One without a row of the states asked for is passed over.
SELECT b.id FROM sendonce.batches b
 WHERE b.campaign_id = %(campaign)s AND b.kind = 'send' AND b.id > %(after)s
   AND (%(states)s::text[] IS NULL
        OR CASE WHEN 'failed' = ANY (%(states)s) THEN b.failed ELSE 0 END
         + CASE WHEN 'uncertain' = ANY (%(states)s) THEN b.uncertain ELSE 0 END
         + CASE WHEN 'suppressed' = ANY (%(states)s) THEN b.suppressed ELSE 0 END
         + CASE WHEN 'expired' = ANY (%(states)s) THEN b.expired ELSE 0 END
         + CASE WHEN 'cancelled' = ANY (%(states)s) THEN b.cancelled ELSE 0 END > 0)
 ORDER BY b.id LIMIT 1;

-- name: named_people
SELECT r.no, r.ref, r.addresses FROM sendonce.recipients r
 WHERE r.campaign_id = %(campaign)s AND r.ref = ANY (%(refs)s::text[])
UNION ALL
SELECT r.no, r.ref, r.addresses FROM sendonce.recipients r
 WHERE r.campaign_id = %(campaign)s AND r.no = ANY (%(lines)s::bigint[]) LIMIT 10001;

-- name: next_batch_of_people
-- Through the unique key of deliveries: the way to one person's rows does not grow with the campaign.
SELECT d.batch_id AS id
  FROM unnest(%(named_channels)s::text[], %(named_addresses)s::text[]) AS a(channel, address)
  JOIN sendonce.deliveries d ON d.campaign_id = %(campaign)s AND d.channel = a.channel AND d.address = a.address
 WHERE d.batch_id > %(after)s
 ORDER BY d.batch_id LIMIT 1;

-- name: lock_batch
SELECT id, state FROM sendonce.batches WHERE id = %(batch)s FOR UPDATE;

-- name: lock_campaign
-- FOR NO KEY UPDATE: as an import, so that workers that add rows must not wait.
SELECT FROM sendonce.campaigns WHERE id = %(campaign)s FOR NO KEY UPDATE;

-- name: reopen_campaign
-- Totals that are true outrank "terminal stays terminal".
UPDATE sendonce.campaigns
   SET ended = NULL, ended_reason = NULL, ended_message = NULL, completed_at = NULL,
       cancelled_at = CASE WHEN %(uncancel)s THEN NULL ELSE cancelled_at END
 WHERE id = %(campaign)s;

-- name: reopen_batch
-- A batch that somebody holds finds the row by itself: release is decided from the rows.
UPDATE sendonce.batches
   SET state = CASE WHEN state = 'done' THEN 'pending' ELSE state END,
       claimable_at = CASE WHEN state = 'leased' THEN claimable_at
                           WHEN state = 'pending' THEN least(claimable_at, now()) ELSE now() END,
       crashes = 0
 WHERE id = %(batch)s;

-- name: matching
SELECT d.no, d.state, d.channel, d.recipient_no FROM sendonce.deliveries d
 WHERE d.batch_id = %(batch)s AND (%(states)s::text[] IS NULL OR d.state = ANY (%(states)s))
   AND (%(reasons)s::text[] IS NULL OR d.reason = ANY (%(reasons)s))
   AND (%(codes)s::text[] IS NULL OR d.code = ANY (%(codes)s))
   AND (%(channels)s::text[] IS NULL OR d.channel = ANY (%(channels)s))
   AND (%(named_addresses)s::text[] IS NULL OR (d.channel, d.address) IN (
     SELECT a.channel, a.address
       FROM unnest(%(named_channels)s::text[], %(named_addresses)s::text[]) AS a(channel, address)))
 ORDER BY d.no LIMIT %(limit)s::int;

-- name: retry_rows
-- The first `limit` of them. Not where another channel that stands in for this one reached the person, or still may: the
-- one that came after it, and the one that it came after. A row that a person had resolved as failed is a repeat that
-- was ordered: it waits as a Resend does.
WITH able AS (
  SELECT d.no FROM sendonce.deliveries d
    JOIN sendonce.channels own ON own.campaign_id = d.campaign_id AND own.channel = d.channel
   WHERE d.batch_id = %(batch)s AND d.no = ANY (%(nos)s) AND d.state IN ('failed', 'expired', 'cancelled', 'suppressed')
     AND NOT EXISTS (
       SELECT FROM sendonce.channels ch
         JOIN sendonce.recipients r ON r.campaign_id = d.campaign_id AND r.no = d.recipient_no
         JOIN sendonce.deliveries f ON f.campaign_id = d.campaign_id AND f.channel = ch.channel
                                   AND f.address = r.addresses -> ch.channel ->> 1 AND f.occasion = d.occasion
        WHERE ch.campaign_id = d.campaign_id
          AND CASE WHEN r.prefers IS NULL THEN ch.after_channel = d.channel OR ch.channel = own.after_channel
                   ELSE ch.channel IN (SELECT w.channel FROM sendonce.ways_on(d.campaign_id, d.channel) w) END
          AND f.state IN ('pending', 'sending', 'sent', 'uncertain'))
   ORDER BY d.no LIMIT %(limit)s
)
UPDATE sendonce.deliveries d
   SET state = 'pending', reason = NULL, code = NULL, error = NULL, finished_at = NULL, tries = 0,
       resend_ordered = d.maybe_accepted,
       next_attempt_at = CASE WHEN d.maybe_accepted
         THEN greatest(now(), d.last_attempt_at + make_interval(secs => %(patience)s)) ELSE now() END
  FROM able
 WHERE d.batch_id = %(batch)s AND d.no = able.no
RETURNING d.no;

-- name: resolve_rows
UPDATE sendonce.deliveries d
   SET state = %(state)s, reason = 'resolved', finished_at = now()
 WHERE d.batch_id = %(batch)s AND d.no = ANY (%(nos)s) AND d.state = 'uncertain';

-- name: resend_rows
-- It waits until an attempt that is still under way must have ended, and, where the attempting process vanished, until
-- that process is known to be gone or has been silent for long.
UPDATE sendonce.deliveries d
   SET state = 'pending', reason = NULL, finished_at = NULL, tries = 0, resend_ordered = true,
       next_attempt_at = greatest(
         now(), d.last_attempt_at + make_interval(secs => %(patience)s),
         CASE WHEN d.reason = 'recovered' THEN
           (SELECT w.heartbeat_at + make_interval(secs => greatest(60, 2 * %(patience)s))
              FROM sendonce.workers w WHERE w.id = d.worker AND w.stopped_at IS NULL) END)
 WHERE d.batch_id = %(batch)s AND d.no = ANY (%(nos)s) AND d.state = 'uncertain';

-- name: suppress_rows
-- What is known already stays: a bounce says more than an order.
INSERT INTO sendonce.suppressions (namespace, channel, address, reason, source)
SELECT DISTINCT d.namespace, d.channel, d.address, 'blocked', %(source)s
  FROM sendonce.deliveries d WHERE d.batch_id = %(batch)s AND d.no = ANY (%(nos)s)
ON CONFLICT DO NOTHING;

-- name: unsuppress_rows
-- Takes back what orders have suppressed, and nothing that a bounce, a complaint or a list has.
DELETE FROM sendonce.suppressions s
 USING sendonce.deliveries d
 WHERE d.batch_id = %(batch)s AND d.no = ANY (%(nos)s)
   AND s.namespace = d.namespace AND s.channel = d.channel AND s.address = d.address
   AND s.reason = 'blocked' AND starts_with(s.source, 'order ');

-- name: close_unchanged
-- Nothing changed after all: a batch without an open row stays done.
UPDATE sendonce.batches SET state = 'done' WHERE id = %(batch)s AND state = 'pending' AND pending + sending = 0;

-- name: reopen_import
-- The source could not be read; a person says that it can be read now.
UPDATE sendonce.campaigns
   SET import_state = 'running', import_message = NULL,
       ended = NULL, ended_reason = NULL, ended_message = NULL, completed_at = NULL
 WHERE id = %(campaign)s AND import_state = 'failed' AND cancelled_at IS NULL
RETURNING id;

-- name: reopen_import_batch
UPDATE sendonce.batches SET state = 'pending', claimable_at = now(), claims = 0, crashes = 0
 WHERE campaign_id = %(campaign)s AND kind = 'import' AND state = 'done';
