-- The inbox of a standing campaign: what applications have committed becomes recipients and deliveries.

-- name: begin
UPDATE sendonce.campaigns SET import_state = 'running', started_at = coalesce(started_at, now())
 WHERE id = %(campaign)s AND import_state = 'pending' AND ended IS NULL;

-- name: is_waiting
SELECT EXISTS (SELECT FROM sendonce.inbox i WHERE i.campaign_id = %(campaign)s AND i.recipient IS NOT NULL) AS waiting;

-- name: take
-- By number, but passing over what another worker has in hand: numbers are given out before their transactions commit,
-- so a place to go on from would miss those that commit late. As text: one that can't be read holds nobody else up.
SELECT i.no, i.key, i.recipient::text AS recipient, i.enqueued_at FROM sendonce.inbox i
 WHERE i.campaign_id = %(campaign)s AND i.recipient IS NOT NULL
 ORDER BY i.no LIMIT %(limit)s FOR UPDATE SKIP LOCKED;

-- name: taken
UPDATE sendonce.inbox i SET recipient = NULL WHERE i.campaign_id = %(campaign)s AND i.key = ANY (%(keys)s::text[]);

-- name: batch_with_room
-- Of the batches that this worker filled before: one that nobody holds. In a held one the rows would wait for its end.
SELECT b.id, b.pending + b.sending + b.sent + b.failed + b.uncertain + b.suppressed + b.expired + b.cancelled AS rows
  FROM sendonce.batches b
 WHERE b.id = ANY (%(ids)s::bigint[]) AND b.channel = %(channel)s AND b.provider_id = %(provider)s AND b.state <> 'leased'
   AND b.pending + b.sending + b.sent + b.failed + b.uncertain + b.suppressed + b.expired + b.cancelled + %(wanted)s <= %(size)s
 ORDER BY b.id LIMIT 1 FOR UPDATE SKIP LOCKED;

-- name: open_batch
UPDATE sendonce.batches SET state = 'pending', claimable_at = now() WHERE id = %(batch)s;

-- name: new_batch
INSERT INTO sendonce.batches (namespace, campaign_id, kind, channel, provider_id, claimable_at)
VALUES (%(namespace)s, %(campaign)s, 'send', %(channel)s, %(provider)s, now()) RETURNING id;

-- name: lock_campaign
-- `restored_to`: what was done after this time was lost with the database, of what was enqueued before `restored_at`.
SELECT c.cancelled_at IS NOT NULL AS cancelled, r.restored_to, r.restored_at
  FROM sendonce.campaigns c
 CROSS JOIN LATERAL (
       SELECT min((a.spec ->> 'point')::timestamptz) AS restored_to, max(a.started_at) AS restored_at
         FROM sendonce.actions a WHERE a.campaign_id = c.id AND a.type = 'Restored') r
 WHERE c.id = %(campaign)s FOR NO KEY UPDATE OF c;

-- name: add_recipients
INSERT INTO sendonce.recipients (campaign_id, no, namespace, ref, addresses, timezone, locale, variables, quiet, prefers)
SELECT %(campaign)s, r.no, %(namespace)s, r.ref, r.addresses::jsonb, r.timezone, r.locale, r.variables::jsonb, r.quiet, r.prefers
  FROM unnest(%(nos)s::bigint[], %(refs)s::text[], %(addresses)s::text[], %(timezones)s::text[], %(locales)s::text[],
              %(variables)s::text[], %(quiets)s::text[], %(prefers)s::text[]) AS r(no, ref, addresses, timezone, locale, variables, quiet, prefers);

-- name: add_deliveries
-- The occasion is part of the key: who orders twice has two.
INSERT INTO sendonce.deliveries (batch_id, no, campaign_id, recipient_no, key, namespace, channel, address, occasion,
                                 state, reason, next_attempt_at, finished_at)
SELECT %(batch)s, %(rows)s + row_number() OVER (ORDER BY r.no), c.id, r.no,
       sendonce.delivery_key((SELECT id FROM sendonce.store), c.namespace, c.send_key, %(channel)s, r.address || chr(31) || r.occasion),
       c.namespace, %(channel)s, r.address, r.occasion,
       CASE WHEN %(cancelled)s THEN 'cancelled' ELSE 'pending' END, CASE WHEN %(cancelled)s THEN 'cancelled' END,
       CASE WHEN NOT %(cancelled)s THEN now() END, CASE WHEN %(cancelled)s THEN now() END
  FROM sendonce.campaigns c,
       unnest(%(nos)s::bigint[], %(addresses)s::text[], %(occasions)s::text[]) AS r(no, address, occasion)
 WHERE c.id = %(campaign)s;

-- name: close_settled
-- What arrived cancelled is done.
UPDATE sendonce.batches SET state = 'done' WHERE id = %(batch)s AND state = 'pending' AND pending + sending = 0;

-- name: count
UPDATE sendonce.campaigns
   SET total = total + %(kept)s, unreachable = unreachable + %(unreachable)s, rejected = rejected + %(rejected)s,
       import_state = CASE WHEN import_state = 'pending' THEN 'running' ELSE import_state END,
       started_at = coalesce(started_at, now())
 WHERE id = %(campaign)s;

-- name: close
UPDATE sendonce.campaigns SET closed_at = coalesce(closed_at, now())
 WHERE id = %(campaign)s AND stream AND ended IS NULL RETURNING id;

-- name: lock_stream
-- Nobody gets it while a transaction is open that has enqueued something.
SELECT s.campaign_id FROM sendonce.streams s WHERE s.campaign_id = %(campaign)s FOR UPDATE SKIP LOCKED;

-- name: finish
-- Asked again under the lock, in a statement of its own: what was committed just before it is seen.
WITH finished AS (
  UPDATE sendonce.streams s SET finished_at = coalesce(s.finished_at, now())
   WHERE s.campaign_id = %(campaign)s
     AND NOT EXISTS (SELECT FROM sendonce.inbox i WHERE i.campaign_id = s.campaign_id AND i.recipient IS NOT NULL)
  RETURNING s.campaign_id
)
UPDATE sendonce.campaigns c SET import_state = 'done', started_at = coalesce(c.started_at, now())
  FROM finished f WHERE c.id = f.campaign_id RETURNING c.id;
