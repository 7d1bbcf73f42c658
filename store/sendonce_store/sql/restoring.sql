-- A store that was restored from a backup: what it does not know of may have happened. Run before anything sends.

-- name: latest
-- The latest time that the store knows of: it was copied then or later, and what it has forgotten happened after it.
SELECT greatest((SELECT max(s.created_at) FROM sendonce.store s),
                (SELECT max(greatest(c.created_at, c.owner_seen_at, c.completed_at)) FROM sendonce.campaigns c),
                (SELECT max(b.heartbeat_at) FROM sendonce.batches b),
                (SELECT max(w.heartbeat_at) FROM sendonce.workers w),
                (SELECT max(t.at) FROM sendonce.attempts t WHERE t.outcome <> 'restored'),
                (SELECT max(a.started_at) FROM sendonce.actions a WHERE a.type <> 'Restored')) AS latest;

-- name: affected
-- What may go on: everything that has not ended, and an import that a person may resume.
SELECT c.id, c.namespace, c.send_key, c.import_state FROM sendonce.campaigns c
 WHERE c.ended IS NULL OR c.import_state <> 'done' ORDER BY c.id;

-- name: lock_campaign
-- As a chunk of an import does: it comes before this, or sees it.
SELECT FROM sendonce.campaigns WHERE id = %(campaign)s FOR NO KEY UPDATE;

-- name: note_restore
INSERT INTO sendonce.actions (campaign_id, name, namespace, type, spec, finished_at)
VALUES (%(campaign)s, 'restored-' || extract(epoch FROM %(point)s::timestamptz)::text, %(namespace)s, 'Restored',
        jsonb_build_object('point', %(point)s::timestamptz), now())
ON CONFLICT (campaign_id, name) DO NOTHING;

-- name: next_batch
SELECT b.id FROM sendonce.batches b
 WHERE b.campaign_id = %(campaign)s AND b.kind = 'send' AND b.pending > 0 AND b.id > %(after)s ORDER BY b.id LIMIT 1;

-- name: lock_batch
SELECT FROM sendonce.batches WHERE id = %(batch)s FOR UPDATE;

-- name: doubt_rows
-- Each may have had one more attempt, with its key, from `point` on at the earliest; a Resend that was ordered may have
-- been carried out. A row that arrives as cancelled can't say that it was never sent. `people`: null for everybody.
WITH doubted AS (
  UPDATE sendonce.deliveries d
     SET maybe_accepted = true, attempt_seq = d.attempt_seq + 1,
         key_first_used_at = coalesce(d.key_first_used_at, %(point)s), resend_ordered = false,
         state = CASE WHEN d.state = 'cancelled' THEN 'uncertain' ELSE d.state END,
         reason = CASE WHEN d.state = 'cancelled' THEN 'restored' ELSE d.reason END
   WHERE d.batch_id = ANY (%(batches)s) AND d.state = ANY (%(states)s)
     AND (%(people)s::bigint[] IS NULL OR d.recipient_no = ANY (%(people)s))
     AND (NOT d.maybe_accepted OR d.resend_ordered)
  RETURNING d.namespace, d.campaign_id, d.batch_id, d.no, d.attempt_seq
), noted AS (
  INSERT INTO sendonce.attempts (namespace, campaign_id, batch_id, no, seq, worker, outcome, message)
  SELECT namespace, campaign_id, batch_id, no, attempt_seq, '?', 'restored',
         'the store was restored from a backup: it may have been sent in the time that was lost'
    FROM doubted
)
SELECT count(*) AS rows FROM doubted;

-- name: end_leases
-- A worker from before finds its lease lost, and what it left in `sending` is settled at the next claim.
UPDATE sendonce.batches SET lease_token = gen_random_uuid(), claimable_at = least(claimable_at, now())
 WHERE state = 'leased';

-- name: skip_numbers
-- Numbers that were given out in the lost time are not given out again: a late answer can't find another row.
SELECT setval(pg_get_serial_sequence('sendonce.' || t.name, 'id'),
              nextval(pg_get_serial_sequence('sendonce.' || t.name, 'id')) + 1000000000)
  FROM (VALUES ('campaigns'), ('batches'), ('providers')) AS t(name);
