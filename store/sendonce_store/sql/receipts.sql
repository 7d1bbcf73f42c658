-- What providers report later: docs/receipts.md. The functions are in the migration of the gateway.

-- name: record
-- One after the other, in the order in which they are given, in one transaction.
SELECT sendonce.gateway_receipt(
         %(namespace)s, %(provider)s, %(origin)s, r.kind, r.event, r.delivery, r.message, r.person, r.channel, r.at,
         r.detail, r.once) AS result
  FROM unnest(%(kinds)s::text[], %(events)s::text[], %(deliveries)s::text[], %(messages)s::text[], %(people)s::text[],
              %(channels)s::text[], %(times)s::timestamptz[], %(details)s::text[], %(once)s::bool[])
       AS r(kind, event, delivery, message, person, channel, at, detail, once);

-- name: forget
-- Events that can't come again any more: what a provider still sends is refused by its age, or changes nothing.
DELETE FROM sendonce.receipts r
 WHERE r.ctid = ANY (ARRAY(SELECT o.ctid FROM sendonce.receipts o
                            WHERE o.seen_at < now() - make_interval(days => %(days)s)
                            ORDER BY o.seen_at LIMIT %(step)s FOR UPDATE SKIP LOCKED));

-- name: reported
-- Finished campaigns of which something was reported of late: their objects are to show it.
SELECT c.id FROM sendonce.campaigns c
 WHERE c.reported_at > now() - make_interval(secs => %(seconds)s) AND c.ended IS NOT NULL;
