-- A fallback row is inserted in the transaction that ends the first: `finished_at = now()` tells which rows those are.

-- name: fallback_batch
-- What this transaction ended without success goes on over the next channel, in a batch of its own.
INSERT INTO sendonce.batches (namespace, campaign_id, kind, channel, provider_id, stage, fallback_of, claimable_at)
SELECT b.namespace, b.campaign_id, 'send', %(channel)s, %(provider)s, b.stage, b.id, now()
  FROM sendonce.batches b
 WHERE b.id = %(batch)s
   AND EXISTS (SELECT FROM sendonce.deliveries d
                 JOIN sendonce.recipients r ON r.campaign_id = d.campaign_id AND r.no = d.recipient_no
                WHERE d.batch_id = b.id AND d.finished_at = now() AND d.state = ANY (%(states)s)
                  AND CASE WHEN r.prefers IS NULL THEN %(usual)s
                           ELSE sendonce.next_preferred(b.campaign_id, r.prefers, r.addresses, b.channel) = %(channel)s END)
ON CONFLICT (fallback_of, channel) DO UPDATE
   SET state = CASE WHEN batches.state = 'done' THEN 'pending' ELSE batches.state END,
       claimable_at = CASE WHEN batches.state = 'leased' THEN batches.claimable_at ELSE now() END;

-- name: fallback_rows
INSERT INTO sendonce.deliveries
       (batch_id, no, campaign_id, recipient_no, key, namespace, channel, address, occasion, next_attempt_at)
SELECT f.id, (SELECT coalesce(max(o.no), 0) FROM sendonce.deliveries o WHERE o.batch_id = f.id) + row_number() OVER (ORDER BY d.no),
       d.campaign_id, d.recipient_no,
       sendonce.delivery_key((SELECT id FROM sendonce.store), c.namespace, c.send_key, f.channel,
                             (r.addresses -> f.channel ->> 1) || coalesce(chr(31) || nullif(d.occasion, ''), '')),
       d.namespace, f.channel, r.addresses -> f.channel ->> 1, d.occasion, now()
  FROM sendonce.deliveries d
  JOIN sendonce.campaigns c ON c.id = d.campaign_id
  JOIN sendonce.batches f ON f.fallback_of = d.batch_id AND f.channel = %(channel)s
  JOIN sendonce.recipients r ON r.campaign_id = d.campaign_id AND r.no = d.recipient_no
 WHERE d.batch_id = %(batch)s AND d.finished_at = now() AND d.state = ANY (%(states)s)
   AND r.addresses ? f.channel
   AND CASE WHEN r.prefers IS NULL THEN %(usual)s
            ELSE sendonce.next_preferred(d.campaign_id, r.prefers, r.addresses, d.channel) = f.channel END
ON CONFLICT (campaign_id, channel, address, occasion) DO NOTHING;

-- name: fallback_channels
SELECT w.channel, w.provider_id, w.after_states, w.usual
  FROM sendonce.ways_on(%(campaign)s, (SELECT channel FROM sendonce.batches WHERE id = %(batch)s)) w;
