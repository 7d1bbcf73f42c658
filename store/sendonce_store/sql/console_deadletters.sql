-- Dead letters by reason, and what an order would change. Rows are read of so many batches at most: the totals are the
-- batches' counters.

-- name: totals
SELECT coalesce(sum(b.failed), 0)::bigint AS failed, coalesce(sum(b.uncertain), 0)::bigint AS uncertain,
       coalesce(sum(b.expired), 0)::bigint AS expired, coalesce(sum(b.cancelled), 0)::bigint AS cancelled,
       coalesce(sum(b.suppressed), 0)::bigint AS suppressed
  FROM sendonce.batches b
 WHERE b.campaign_id = %(campaign)s AND b.namespace = %(namespace)s AND b.kind = 'send';

-- name: groups
-- Of the first batches that have any, with one of the far end's answers and one person for each group.
SELECT d.state, d.channel, d.reason, d.code, count(*) AS count, max(d.error) AS message,
       min(d.recipient_no) AS example, max(d.finished_at) AS latest_at
  FROM (SELECT b.id FROM sendonce.batches b
         WHERE b.campaign_id = %(campaign)s AND b.namespace = %(namespace)s AND b.kind = 'send'
           AND CASE WHEN 'failed' = ANY (%(states)s::text[]) THEN b.failed ELSE 0 END
             + CASE WHEN 'uncertain' = ANY (%(states)s) THEN b.uncertain ELSE 0 END
             + CASE WHEN 'suppressed' = ANY (%(states)s) THEN b.suppressed ELSE 0 END
             + CASE WHEN 'expired' = ANY (%(states)s) THEN b.expired ELSE 0 END
             + CASE WHEN 'cancelled' = ANY (%(states)s) THEN b.cancelled ELSE 0 END > 0
         ORDER BY b.id LIMIT %(batches)s) w
  JOIN sendonce.deliveries d ON d.batch_id = w.id
 WHERE d.state = ANY (%(states)s)
 GROUP BY d.state, d.channel, d.reason, d.code
 ORDER BY count(*) DESC, d.state, d.channel, d.reason, d.code LIMIT 200;

-- name: would_change
-- What an order would take, as `matching` of actions.sql takes it.
SELECT count(*) AS rows, count(DISTINCT d.recipient_no) AS people,
       count(*) FILTER (WHERE d.maybe_accepted) AS maybe_accepted
  FROM (SELECT b.id FROM sendonce.batches b
         WHERE b.campaign_id = %(campaign)s AND b.namespace = %(namespace)s AND b.kind = 'send'
           AND (%(states)s::text[] IS NULL
                OR CASE WHEN 'failed' = ANY (%(states)s) THEN b.failed ELSE 0 END
                 + CASE WHEN 'uncertain' = ANY (%(states)s) THEN b.uncertain ELSE 0 END
                 + CASE WHEN 'suppressed' = ANY (%(states)s) THEN b.suppressed ELSE 0 END
                 + CASE WHEN 'expired' = ANY (%(states)s) THEN b.expired ELSE 0 END
                 + CASE WHEN 'cancelled' = ANY (%(states)s) THEN b.cancelled ELSE 0 END > 0)
         ORDER BY b.id LIMIT %(batches)s) w
  JOIN sendonce.deliveries d ON d.batch_id = w.id
 WHERE (%(states)s::text[] IS NULL OR d.state = ANY (%(states)s))
   AND (%(reasons)s::text[] IS NULL OR d.reason = ANY (%(reasons)s))
   AND (%(codes)s::text[] IS NULL OR d.code = ANY (%(codes)s))
   AND (%(channels)s::text[] IS NULL OR d.channel = ANY (%(channels)s));

-- name: would_change_for
-- The same for the people who are named.
SELECT count(*) AS rows, count(DISTINCT d.recipient_no) AS people,
       count(*) FILTER (WHERE d.maybe_accepted) AS maybe_accepted
  FROM unnest(%(named_channels)s::text[], %(named_addresses)s::text[]) AS a(channel, address)
  JOIN sendonce.deliveries d ON d.campaign_id = %(campaign)s AND d.channel = a.channel AND d.address = a.address
 WHERE (%(states)s::text[] IS NULL OR d.state = ANY (%(states)s))
   AND (%(reasons)s::text[] IS NULL OR d.reason = ANY (%(reasons)s))
   AND (%(codes)s::text[] IS NULL OR d.code = ANY (%(codes)s))
   AND (%(channels)s::text[] IS NULL OR d.channel = ANY (%(channels)s));

-- name: orders
-- What people ordered, the newest first.
SELECT a.name, a.type, a.spec, a.matched, a.changed, a.message, a.started_at, a.finished_at
  FROM sendonce.actions a
 WHERE a.campaign_id = %(campaign)s AND a.namespace = %(namespace)s
   AND (%(name)s::text IS NULL OR a.name = %(name)s)
 ORDER BY a.started_at DESC, a.name LIMIT %(limit)s;
