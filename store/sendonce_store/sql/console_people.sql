-- What the console asks about people over all campaigns. Each statement goes through an index that is there for sending:
-- campaign by campaign, the newest first, and no further than so many of them. It names the namespaces too.

-- name: by_address
-- Through the unique key of deliveries.
SELECT c.id AS campaign_id, c.namespace, c.send_key, c.name, c.created_at, d.recipient_no AS line, r.ref,
       d.channel, d.address, d.state, d.reason, d.code, d.finished_at, d.last_attempt_at
  FROM (SELECT id, namespace, send_key, name, created_at FROM sendonce.campaigns
         WHERE namespace = ANY (%(namespaces)s) AND data_deleted_at IS NULL
         ORDER BY created_at DESC, id DESC LIMIT %(campaigns)s) c
 CROSS JOIN unnest(%(channels)s::text[], %(addresses)s::text[]) AS a(channel, address)
  JOIN sendonce.channels ch ON ch.campaign_id = c.id AND ch.channel = a.channel
 CROSS JOIN LATERAL (
   SELECT d.recipient_no, d.channel, d.address, d.state, d.reason, d.code, d.finished_at, d.last_attempt_at
     FROM sendonce.deliveries d
    WHERE d.campaign_id = c.id AND d.channel = a.channel AND d.address = a.address LIMIT 5) d
  LEFT JOIN sendonce.recipients r ON r.campaign_id = c.id AND r.no = d.recipient_no
 ORDER BY c.created_at DESC, c.id DESC, d.channel LIMIT %(limit)s;

-- name: by_prefix
-- A range of the same index: addresses are compared byte by byte (COLLATE "C"). `upto` is behind the last of them.
SELECT p.namespace, p.channel, p.address, count(*) AS campaigns, max(p.created_at) AS newest_at
  FROM (SELECT c.namespace, c.created_at, d.channel, d.address
          FROM (SELECT id, namespace, created_at FROM sendonce.campaigns
                 WHERE namespace = ANY (%(namespaces)s) AND data_deleted_at IS NULL
                 ORDER BY created_at DESC, id DESC LIMIT %(campaigns)s) c
         CROSS JOIN unnest(%(channels)s::text[], %(prefixes)s::text[], %(ends)s::text[]) AS a(channel, prefix, upto)
          JOIN sendonce.channels ch ON ch.campaign_id = c.id AND ch.channel = a.channel
         CROSS JOIN LATERAL (
           SELECT d.channel, d.address FROM sendonce.deliveries d
            WHERE d.campaign_id = c.id AND d.channel = a.channel AND d.address >= a.prefix AND d.address < a.upto
            ORDER BY d.address LIMIT %(each)s) d) p
 GROUP BY p.namespace, p.channel, p.address ORDER BY p.address, p.channel, p.namespace LIMIT %(limit)s;

-- name: by_ref
-- Through recipients_by_ref. Whom a reference means differs from list to list: each campaign is a hit of its own.
SELECT c.id AS campaign_id, c.namespace, c.send_key, c.name, c.created_at, r.no AS line, r.ref, r.addresses
  FROM (SELECT id, namespace, send_key, name, created_at FROM sendonce.campaigns
         WHERE namespace = ANY (%(namespaces)s) AND data_deleted_at IS NULL
         ORDER BY created_at DESC, id DESC LIMIT %(campaigns)s) c
 CROSS JOIN LATERAL (
   SELECT r.no, r.ref, r.addresses FROM sendonce.recipients r
    WHERE r.campaign_id = c.id AND r.ref = %(ref)s ORDER BY r.no LIMIT 5) r
 ORDER BY c.created_at DESC, c.id DESC, r.no LIMIT %(limit)s;

-- name: batches_before
-- The newest batches of these namespaces that handed anything over, from a place on backwards.
SELECT b.id FROM sendonce.batches b
 WHERE b.id < %(before)s AND b.namespace = ANY (%(namespaces)s) AND b.kind = 'send'
   AND b.sent + b.failed + b.uncertain + b.pending + b.sending > 0
 ORDER BY b.id DESC LIMIT %(batches)s;

-- name: by_message_id
-- There is no index on message ids: it would make every result that a worker writes dearer. So many batches are read at a
-- time, one by one, by their key.
SELECT c.id AS campaign_id, c.namespace, c.send_key, c.name, c.created_at, d.recipient_no AS line, r.ref,
       d.channel, d.address, d.state, d.reason, d.code, d.finished_at, d.last_attempt_at
  FROM unnest(%(batches)s::bigint[]) AS w(id)
 CROSS JOIN LATERAL (
   SELECT d.* FROM sendonce.deliveries d WHERE d.batch_id = w.id AND d.message_id = %(message_id)s LIMIT 5) d
  JOIN sendonce.campaigns c ON c.id = d.campaign_id AND c.namespace = ANY (%(namespaces)s)
  LEFT JOIN sendonce.recipients r ON r.campaign_id = c.id AND r.no = d.recipient_no
 LIMIT 20;

-- name: by_delivery_id
-- Our own id of a delivery, as messages carry it in their metadata: its place, and the beginning of its key.
SELECT c.id AS campaign_id, c.namespace, c.send_key, c.name, c.created_at, d.recipient_no AS line, r.ref,
       d.channel, d.address, d.state, d.reason, d.code, d.finished_at, d.last_attempt_at
  FROM sendonce.deliveries d
  JOIN sendonce.campaigns c ON c.id = d.campaign_id AND c.namespace = ANY (%(namespaces)s)
  LEFT JOIN sendonce.recipients r ON r.campaign_id = c.id AND r.no = d.recipient_no
 WHERE d.batch_id = %(batch)s AND d.no = %(no)s AND (%(key)s::text IS NULL OR starts_with(d.key::text, %(key)s));

-- name: reject_of_line
SELECT line, field, reason, excerpt FROM sendonce.import_rejects
 WHERE campaign_id = %(campaign)s AND namespace = %(namespace)s AND line = %(line)s;

-- name: how_many_campaigns
SELECT count(*) AS campaigns FROM (
  SELECT FROM sendonce.campaigns WHERE namespace = ANY (%(namespaces)s) AND data_deleted_at IS NULL LIMIT %(limit)s) c;

-- name: suppressions_of
-- By the keys of both tables.
SELECT s.channel, s.address, s.reason, s.source, s.created_at
  FROM unnest(%(channels)s::text[], %(addresses)s::text[]) AS a(channel, address)
  JOIN sendonce.suppressions s ON s.namespace = %(namespace)s AND s.channel = a.channel AND s.address = a.address
 ORDER BY s.channel;

-- name: opt_outs_of
SELECT o.channel, o.address, o.category, o.topic, o.source, o.created_at
  FROM unnest(%(channels)s::text[], %(addresses)s::text[]) AS a(channel, address)
  JOIN sendonce.opt_outs o ON o.namespace = %(namespace)s AND o.channel = a.channel AND o.address = a.address
 ORDER BY o.channel, o.category, o.topic LIMIT 100;

-- name: batches_from
-- The next batches that may hold what is asked for, from a place on: their counters say which have a row of a state.
SELECT b.id FROM sendonce.batches b
 WHERE b.campaign_id = %(campaign)s AND b.namespace = %(namespace)s AND b.kind = 'send' AND b.id >= %(after_batch)s
   AND (%(states)s::text[] IS NULL
        OR CASE WHEN 'pending' = ANY (%(states)s) THEN b.pending ELSE 0 END
         + CASE WHEN 'sending' = ANY (%(states)s) THEN b.sending ELSE 0 END
         + CASE WHEN 'sent' = ANY (%(states)s) THEN b.sent ELSE 0 END
         + CASE WHEN 'failed' = ANY (%(states)s) THEN b.failed ELSE 0 END
         + CASE WHEN 'uncertain' = ANY (%(states)s) THEN b.uncertain ELSE 0 END
         + CASE WHEN 'suppressed' = ANY (%(states)s) THEN b.suppressed ELSE 0 END
         + CASE WHEN 'expired' = ANY (%(states)s) THEN b.expired ELSE 0 END
         + CASE WHEN 'cancelled' = ANY (%(states)s) THEN b.cancelled ELSE 0 END > 0)
   AND (%(channels)s::text[] IS NULL OR b.channel = ANY (%(channels)s))
 ORDER BY b.id LIMIT %(batches)s;

-- name: recipients
-- Batch by batch, in order, no further than the page needs.
SELECT d.batch_id, d.no, d.recipient_no AS line, r.ref, d.channel, r.addresses -> d.channel ->> 0 AS address,
       d.state, d.reason, d.code, d.error, d.attempt_seq AS attempts, d.message_id,
       coalesce(d.finished_at, d.last_attempt_at) AS updated, d.next_attempt_at, v.name AS provider
  FROM unnest(%(batches)s::bigint[]) WITH ORDINALITY AS w(id, place)
 CROSS JOIN LATERAL (
   SELECT d.* FROM sendonce.deliveries d
    WHERE d.batch_id = w.id AND (d.batch_id, d.no) > (%(after_batch)s, %(after_no)s)
      AND (%(states)s::text[] IS NULL OR d.state = ANY (%(states)s))
      AND (%(reasons)s::text[] IS NULL OR d.reason = ANY (%(reasons)s))
      AND (%(codes)s::text[] IS NULL OR d.code = ANY (%(codes)s))
    ORDER BY d.no LIMIT %(limit)s) d
  JOIN sendonce.batches b ON b.id = d.batch_id
  LEFT JOIN sendonce.recipients r ON r.campaign_id = d.campaign_id AND r.no = d.recipient_no
  LEFT JOIN sendonce.providers v ON v.id = b.provider_id
 WHERE d.campaign_id = %(campaign)s
 ORDER BY w.place, d.no LIMIT %(limit)s;
