-- What is done before the object of a campaign may go: nobody may be at work on it, and every row gets its final state.

-- name: leases_left
-- Seconds until the last lease has ended; null when nobody holds a batch.
SELECT extract(epoch FROM max(claimable_at) - now())::float8 AS seconds FROM sendonce.batches
 WHERE campaign_id = %(campaign)s AND state = 'leased' AND claimable_at > now();

-- name: next_open
SELECT id FROM sendonce.batches
 WHERE campaign_id = %(campaign)s AND state <> 'done' AND id > %(after)s ORDER BY id LIMIT 1;

-- name: lock_idle
-- The batch, unless somebody holds it: a lease that was renewed meanwhile is waited for again.
SELECT id FROM sendonce.batches WHERE id = %(batch)s AND (state <> 'leased' OR claimable_at <= now()) FOR UPDATE;

-- name: settle
-- What a dead holder left in `sending` may have been accepted, and nobody will find out.
UPDATE sendonce.deliveries d
   SET state = CASE WHEN d.evidence THEN 'sent' WHEN d.state = 'sending' OR d.maybe_accepted THEN 'uncertain' ELSE 'cancelled' END,
       reason = CASE WHEN d.evidence THEN NULL WHEN d.state = 'sending' THEN 'recovered' ELSE 'cancelled' END,
       maybe_accepted = d.maybe_accepted OR d.state = 'sending', next_attempt_at = NULL, finished_at = now()
 WHERE d.batch_id = %(batch)s AND d.state IN ('pending', 'sending');

-- name: close
-- Without its token the holder that comes back finds that it lost the lease.
UPDATE sendonce.batches SET state = 'done', lease_token = NULL, worker = NULL WHERE id = %(batch)s;

-- name: stop_import
UPDATE sendonce.campaigns SET import_state = 'failed', import_message = 'the campaign was deleted first'
 WHERE id = %(campaign)s AND import_state <> 'done';

-- name: find
SELECT ended FROM sendonce.campaigns WHERE id = %(campaign)s;
