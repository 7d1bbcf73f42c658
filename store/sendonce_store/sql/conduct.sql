-- What moves a campaign as a whole: holds, canary, breaker, deadline, cancel, the end.

-- name: facts
SELECT c.id, c.spec, c.import_state, c.import_message, c.held, c.rollout_stage,
       extract(epoch FROM now() - c.rollout_since)::float8 AS stage_seconds,
       c.cancelled_at IS NOT NULL AS cancelled, coalesce(c.deadline <= now(), false) AS late,
       c.halt_reason, c.ended, c.ended_reason, c.total, c.duplicates, c.rejected, c.unreachable,
       c.base_failed, c.base_final,
       c.stream, c.closed_at IS NOT NULL AS closed,
       c.stream AND EXISTS (SELECT FROM sendonce.inbox i WHERE i.campaign_id = c.id AND i.recipient IS NOT NULL) AS inbox,
       n.*
  FROM sendonce.campaigns c,
       LATERAL (
         SELECT coalesce(sum(b.pending), 0)::bigint AS pending, coalesce(sum(b.sending), 0)::bigint AS sending,
                coalesce(sum(b.sent), 0)::bigint AS sent, coalesce(sum(b.failed), 0)::bigint AS failed,
                coalesce(sum(b.uncertain), 0)::bigint AS uncertain, coalesce(sum(b.suppressed), 0)::bigint AS suppressed,
                coalesce(sum(b.expired), 0)::bigint AS expired, coalesce(sum(b.cancelled), 0)::bigint AS cancelled_rows,
                count(*) FILTER (WHERE b.state <> 'done') AS open_batches,
                coalesce(sum(b.pending + b.sending) FILTER (WHERE b.stage = 'canary'), 0)::bigint AS canary_open,
                coalesce(sum(b.sent) FILTER (WHERE b.stage = 'canary'), 0)::bigint AS canary_sent,
                coalesce(sum(b.failed) FILTER (WHERE b.stage = 'canary'), 0)::bigint AS canary_failed
           FROM sendonce.batches b WHERE b.campaign_id = c.id AND b.kind = 'send') n
 WHERE c.id = %(campaign)s;

-- name: import_first
-- An import that is due again, or whose holder let its lease end, goes before every batch that is due: what it brings has
-- waited for longest. The claim takes the oldest, and stays as cheap as it is. One that somebody is at work on is passed over.
UPDATE sendonce.batches SET claimable_at = to_timestamp(0)
 WHERE id = (SELECT b.id FROM sendonce.batches b
              WHERE b.campaign_id = %(campaign)s AND b.kind = 'import' AND b.state <> 'done'
                AND b.claimable_at <= now() AND b.claimable_at > to_timestamp(0)
                AND EXISTS (SELECT FROM sendonce.campaigns c
                             WHERE c.id = %(campaign)s AND c.import_state IN ('pending', 'running') AND NOT c.stream)
              LIMIT 1 FOR UPDATE SKIP LOCKED);

-- name: try_lock
SELECT id FROM sendonce.campaigns WHERE id = %(campaign)s AND ended IS NULL FOR NO KEY UPDATE SKIP LOCKED;

-- name: release_held
UPDATE sendonce.batches SET claimable_at = now()
 WHERE campaign_id = %(campaign)s AND state = 'pending' AND claimable_at = 'infinity';

-- name: lift_hold
UPDATE sendonce.campaigns SET held = false WHERE id = %(campaign)s;

-- name: set_stage
UPDATE sendonce.campaigns SET rollout_stage = %(stage)s, rollout_since = now(), held = false WHERE id = %(campaign)s;

-- name: canary_people
-- Chosen by hash: the keys are hashes, so the smallest are a fair and repeatable sample. People, with all their channels.
CREATE TEMP TABLE canary_people ON COMMIT DROP AS
SELECT recipient_no, row_number() OVER (ORDER BY min(key::text)) - 1 AS ordinal
  FROM sendonce.deliveries WHERE campaign_id = %(campaign)s
 GROUP BY recipient_no ORDER BY min(key::text) LIMIT %(people)s;

-- name: canary_batches
CREATE TEMP TABLE canary_batches ON COMMIT DROP AS
SELECT ch.channel, ch.provider_id, n AS no, nextval(pg_get_serial_sequence('sendonce.batches', 'id')) AS id
  FROM sendonce.channels ch, generate_series(0, (%(people)s - 1) / %(size)s) n
 WHERE ch.campaign_id = %(campaign)s;

-- name: insert_canary_batches
INSERT INTO sendonce.batches (id, namespace, campaign_id, kind, channel, provider_id, stage, claimable_at)
SELECT n.id, c.namespace, c.id, 'send', n.channel, n.provider_id, 'canary', now()
  FROM canary_batches n, sendonce.campaigns c WHERE c.id = %(campaign)s;

-- name: move_canary_rows
-- By a function: a tenant's login may not write which batch a row is in.
SELECT sendonce.move_to_canary(
  %(campaign)s, %(size)s::int, (SELECT array_agg(recipient_no ORDER BY ordinal) FROM canary_people),
  (SELECT array_agg(channel ORDER BY id) FROM canary_batches), (SELECT array_agg(no ORDER BY id) FROM canary_batches),
  (SELECT array_agg(id ORDER BY id) FROM canary_batches));

-- name: drop_emptied_batches
SELECT sendonce.drop_emptied_batches(%(campaign)s, NULL);

-- name: halt
UPDATE sendonce.campaigns SET halt_reason = %(reason)s, halt_message = %(message)s
 WHERE id = %(campaign)s AND halt_reason IS NULL;

-- name: open_batches
SELECT id FROM sendonce.batches
 WHERE campaign_id = %(campaign)s AND kind = 'send' AND pending > 0 AND id > %(after)s ORDER BY id LIMIT 200;

-- name: lock_batch
SELECT id, state FROM sendonce.batches WHERE id = %(batch)s FOR UPDATE;

-- name: settle_pending
-- Rows that will not be handed off any more. One that may have been accepted is uncertain, never "not sent".
UPDATE sendonce.deliveries d
   SET state = CASE WHEN d.maybe_accepted THEN 'uncertain' ELSE %(state)s END, reason = %(reason)s,
       next_attempt_at = NULL, finished_at = now()
 WHERE d.batch_id = %(batch)s AND d.state = 'pending';

-- name: close_settled
-- A batch that somebody holds is closed by its holder.
UPDATE sendonce.batches SET state = 'done' WHERE id = %(batch)s AND state = 'pending' AND pending + sending = 0;

-- name: end_imports
UPDATE sendonce.batches SET state = 'done', lease_token = NULL, worker = NULL
 WHERE campaign_id = %(campaign)s AND kind = 'import' AND state <> 'done';

-- name: count_open_rows
-- The end is told from the rows themselves.
SELECT count(*) AS open FROM sendonce.deliveries WHERE campaign_id = %(campaign)s AND state IN ('pending', 'sending');

-- name: end_campaign
UPDATE sendonce.campaigns
   SET ended = %(ended)s, ended_reason = %(reason)s, ended_message = %(message)s, completed_at = now(),
       held = false, halt_reason = NULL, halt_message = NULL
 WHERE id = %(campaign)s AND ended IS NULL;

-- name: tell_end
UPDATE sendonce.campaigns SET ended_reason = %(reason)s, ended_message = %(message)s
 WHERE id = %(campaign)s AND ended = 'complete' AND data_deleted_at IS NULL;
