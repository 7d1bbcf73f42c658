-- The hot path: claim, take turns, release. Every statement but `claim` runs behind `hold_lease`
-- in the same transaction.

-- name: claim
-- One due batch that nobody holds, or whose holder let its lease end. An import is claimable before startAt. MATERIALIZED:
-- a plan that joins the sub-query looks for a due batch again for each row that it compares, and takes all of them.
WITH due AS MATERIALIZED (
  SELECT b.id, b.state
    FROM sendonce.batches b
    JOIN sendonce.campaigns c ON c.id = b.campaign_id
    LEFT JOIN sendonce.providers p ON p.id = b.provider_id
   WHERE b.campaign_id = %(campaign)s AND b.state <> 'done' AND b.claimable_at <= now()
     AND c.ended IS NULL
     -- whatever stands still, a batch whose holder died is settled, and one without an open row (a fallback that
     -- nobody has the address for) is closed; an import goes on after a cancel
     AND (b.sending > 0 OR (b.kind = 'send' AND (b.state = 'leased' OR b.pending = 0))
          OR (CASE WHEN c.cancelled_at IS NOT NULL THEN b.kind = 'import'
                   ELSE NOT c.suspended AND c.halt_reason IS NULL END
              AND (b.kind = 'import' OR c.start_at IS NULL OR c.start_at <= now())
              AND (p.id IS NULL OR (NOT p.suspended AND (p.paused_until IS NULL OR p.paused_until <= now())))))
   ORDER BY b.claimable_at
   LIMIT 1
     FOR UPDATE OF b SKIP LOCKED
)
UPDATE sendonce.batches b
   SET state = 'leased', lease_token = %(token)s, worker = %(worker)s, leased_at = now(), heartbeat_at = now(),
       claimable_at = now() + make_interval(secs => %(lease)s), claims = b.claims + 1,
       crashes = CASE WHEN due.state = 'leased' THEN b.crashes + 1 ELSE b.crashes END
  FROM due
 WHERE b.id = due.id
RETURNING b.id, b.kind, b.channel, b.provider_id, b.stage, b.cursor, b.crashes, b.claims;

-- name: recover
-- Rows found in `sending` were handed off, or were about to be, by a worker that is gone: repeated only where that is
-- safe. A recovery counts as an attempt.
WITH verdict AS (
  SELECT d.no, CASE
      WHEN d.evidence THEN 'sent'
      WHEN d.tries + 1 >= %(max_attempts)s THEN 'uncertain'
      WHEN %(key_window)s::float8 IS NULL THEN CASE WHEN %(resend)s THEN 'pending' ELSE 'uncertain' END
      WHEN now() + make_interval(secs => %(patience)s) > d.key_first_used_at + make_interval(secs => %(key_window)s)
        THEN CASE WHEN %(resend)s THEN 'pending' ELSE 'uncertain' END
      ELSE 'pending' END AS state
    FROM sendonce.deliveries d
   WHERE d.batch_id = %(batch)s AND d.state = 'sending'
), moved AS (
  UPDATE sendonce.deliveries d
     SET state = v.state, maybe_accepted = true, tries = d.tries + 1,
         reason = CASE WHEN v.state = 'uncertain' THEN 'recovered' END,
         error = CASE WHEN v.state = 'sent' THEN d.error ELSE 'the worker was gone before the answer was recorded' END,
         -- an unkeyed far end may still be busy with the lost attempt
         next_attempt_at = CASE WHEN v.state = 'pending' THEN
           now() + make_interval(secs => CASE WHEN %(key_window)s::float8 IS NULL THEN %(patience)s ELSE 0 END) END,
         finished_at = CASE WHEN v.state <> 'pending' THEN now() END
    FROM verdict v
   WHERE d.batch_id = %(batch)s AND d.no = v.no AND d.state = 'sending'
  RETURNING d.namespace, d.campaign_id, d.no, d.attempt_seq, d.worker
), noted AS (
  INSERT INTO sendonce.attempts (namespace, campaign_id, batch_id, no, seq, worker, outcome, message)
  SELECT namespace, campaign_id, %(batch)s, no, attempt_seq, worker, 'recovered',
         'the worker was gone before the answer was recorded'
    FROM moved
)
SELECT count(*) AS recovered FROM moved;

-- name: park
-- A batch that ended the life of one worker after the other: every open row of it gets a final state.
UPDATE sendonce.deliveries d
   SET state = CASE WHEN d.maybe_accepted THEN 'uncertain' ELSE 'failed' END,
       reason = 'poison', error = 'workers died on this batch, again and again', next_attempt_at = NULL, finished_at = now()
 WHERE d.batch_id = %(batch)s AND d.state = 'pending';

-- name: due_rows
-- What can be sent of a batch now, with the person it goes to. LATERAL with LIMIT: people are looked up one by one by
-- their key; for short lists the planner would else read all of them for each batch.
SELECT d.no, d.attempt_seq, d.tries, d.maybe_accepted, d.key::text AS key, d.digest, d.recipient_no,
       r.addresses -> d.channel ->> 0 AS address, r.ref, r.timezone, r.locale, r.variables, r.addresses, r.quiet
  FROM sendonce.deliveries d
 CROSS JOIN LATERAL (
       SELECT p.ref, p.timezone, p.locale, p.variables, p.addresses, p.quiet
         FROM sendonce.recipients p
        WHERE p.campaign_id = d.campaign_id AND p.no = d.recipient_no
        LIMIT 1) r
 WHERE d.batch_id = %(batch)s AND d.state = 'pending' AND d.next_attempt_at <= now()
 ORDER BY d.no;

-- name: hold_lease
SELECT sendonce.hold_lease(%(batch)s, %(token)s);

-- name: take_turn
-- The function is in the schema. Alone it is a transaction of its own.
SELECT * FROM sendonce.take_turn(
  %(batch)s, %(token)s, %(lease)s::float8, %(worker)s, %(flowing)s,
  %(nos)s::int[], %(seqs)s::int[], %(states)s::text[], %(reasons)s::text[], %(codes)s::text[], %(errors)s::text[],
  %(message_ids)s::text[], %(delays)s::float8[], %(unknowns)s::bool[], %(used)s::int[],
  %(group)s::int[], %(digests)s::bytea[], %(key_window)s::float8, %(patience)s::float8, %(resend)s);

-- name: hold_caps
-- Only where the campaign has a frequency cap; in front of the turn.
SELECT no, state, reason FROM sendonce.hold_caps(%(batch)s, %(token)s, %(group)s::int[], %(ending)s::int[]);

-- name: count_contacts
-- Behind the turn.
SELECT sendonce.count_contacts(%(batch)s, %(group)s::int[], %(ending)s::int[]);

-- name: renew
UPDATE sendonce.batches
   SET claimable_at = now() + make_interval(secs => %(lease)s), heartbeat_at = now()
 WHERE id = %(batch)s AND lease_token = %(token)s
RETURNING id;

-- name: note_attempts
INSERT INTO sendonce.attempts (namespace, campaign_id, batch_id, no, seq, worker, outcome, code, message)
SELECT %(namespace)s, %(campaign)s, %(batch)s, a.no, a.seq, %(worker)s, a.outcome, a.code, a.message
  FROM unnest(%(nos)s::int[], %(seqs)s::int[], %(outcomes)s::text[], %(codes)s::text[], %(messages)s::text[])
       AS a(no, seq, outcome, code, message);

-- name: settle_unsent
-- Rows that end, or wait, without a hand-off: quiet hours, an unknown zone, a template that fails. One that may have
-- been accepted earlier can't become "never sent".
UPDATE sendonce.deliveries d
   SET state = CASE WHEN d.maybe_accepted AND s.state <> 'pending' THEN 'uncertain' ELSE s.state END,
       reason = s.reason, code = s.code, error = s.error,
       next_attempt_at = CASE WHEN s.state = 'pending' THEN now() + make_interval(secs => s.delay) END,
       finished_at = CASE WHEN s.state <> 'pending' THEN now() END
  FROM unnest(%(nos)s::int[], %(states)s::text[], %(reasons)s::text[], %(codes)s::text[], %(errors)s::text[],
              %(delays)s::float8[]) AS s(no, state, reason, code, error, delay)
 WHERE d.batch_id = %(batch)s AND d.no = s.no AND d.state = 'pending'
RETURNING d.no, d.state, d.reason;

-- name: release
-- Decided from the rows, under the lock: nobody can add or reopen one in between.
UPDATE sendonce.batches b
   SET state = CASE WHEN open.rows = 0 THEN 'done' ELSE 'pending' END,
       claimable_at = coalesce(open.due, now()), lease_token = NULL, worker = NULL, crashes = 0
  FROM (SELECT count(*) AS rows, min(coalesce(d.next_attempt_at, now())) AS due
          FROM sendonce.deliveries d
         WHERE d.batch_id = %(batch)s AND d.state IN ('pending', 'sending')) open
 WHERE b.id = %(batch)s AND b.lease_token = %(token)s
RETURNING b.state;

-- name: reread
-- After a commit whose fate is unknown: what became of the group that was to be handed off.
SELECT no, state, reason, attempt_seq, first_attempt_at, maybe_accepted
  FROM sendonce.deliveries
 WHERE batch_id = %(batch)s AND no = ANY (%(nos)s);

-- name: lock_batch
-- Without a token: the lease was lost.
SELECT id FROM sendonce.batches WHERE id = %(batch)s FOR UPDATE;

-- name: late_evidence
-- Answers that no turn has written, or of which it is not known; the batch is locked. One that the worker noted before is
-- not noted again (its turn was committed after all, or this is), nor an acceptance that the delivery itself tells.
INSERT INTO sendonce.attempts (namespace, campaign_id, batch_id, no, seq, worker, outcome, late, code, message)
SELECT %(namespace)s, %(campaign)s, %(batch)s, a.no, a.seq, %(worker)s, a.outcome, true, a.code, a.message
  FROM unnest(%(nos)s::int[], %(seqs)s::int[], %(outcomes)s::text[], %(codes)s::text[], %(messages)s::text[])
       AS a(no, seq, outcome, code, message)
 WHERE NOT EXISTS (SELECT FROM sendonce.attempts t
                    WHERE t.batch_id = %(batch)s AND t.no = a.no AND t.seq = a.seq AND t.worker = %(worker)s
                      AND t.outcome = a.outcome)
   AND NOT EXISTS (SELECT FROM sendonce.deliveries d
                    WHERE a.outcome = 'accepted' AND d.batch_id = %(batch)s AND d.no = a.no AND d.attempt_seq = a.seq
                      AND d.state = 'sent' AND d.reason IS NULL AND NOT d.evidence);

-- name: accept_late
UPDATE sendonce.deliveries d
   SET evidence = true, message_id = coalesce(a.message_id, d.message_id),
       state = CASE WHEN d.state = 'sending' AND d.attempt_seq > a.seq THEN d.state ELSE 'sent' END,
       reason = CASE WHEN d.state = 'sending' AND d.attempt_seq > a.seq THEN d.reason END,
       next_attempt_at = NULL,
       finished_at = CASE WHEN d.state = 'sending' AND d.attempt_seq > a.seq THEN NULL ELSE now() END
  FROM unnest(%(nos)s::int[], %(seqs)s::int[], %(message_ids)s::text[]) AS a(no, seq, message_id)
 WHERE d.batch_id = %(batch)s AND d.no = a.no AND d.attempt_seq >= a.seq
   AND (d.state IN ('uncertain', 'pending', 'sending') OR (d.state = 'failed' AND d.maybe_accepted))
RETURNING d.no, d.state;

-- name: close_if_settled
-- After late evidence: a batch that nobody holds and that has no open row is done.
UPDATE sendonce.batches SET state = 'done'
 WHERE id = %(batch)s AND state = 'pending' AND pending + sending = 0;

-- name: next_due
-- Seconds until something can be claimed; null when nothing is to come without another event.
SELECT extract(epoch FROM min(b.claimable_at) - now())::float8 AS seconds
  FROM sendonce.batches b
 WHERE b.campaign_id = %(campaign)s AND b.state <> 'done' AND b.claimable_at < 'infinity';
