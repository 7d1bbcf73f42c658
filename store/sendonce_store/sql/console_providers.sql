-- Providers as the console shows them, and what they did of late.

-- name: providers
-- Of the namespaces, and the cluster providers that a campaign of them uses (row-level security says the same of the
-- console's login). `campaigns`: that have not ended, of the namespaces.
SELECT p.id, p.namespace, p.kind, p.name, p.spec, p.suspended, p.paused_until, p.pause_code, p.pause_message,
       p.pauses_in_row, p.updated_at, now() AS now,
       ARRAY(SELECT c.id FROM sendonce.campaigns c
              WHERE c.ended IS NULL AND c.namespace = ANY (%(namespaces)s::text[])
                AND EXISTS (SELECT FROM sendonce.channels ch WHERE ch.campaign_id = c.id AND ch.provider_id = p.id)
              ORDER BY c.id DESC LIMIT 100) AS campaigns
  FROM sendonce.providers p
 WHERE p.namespace = ANY (%(namespaces)s::text[])
    OR (p.namespace = '' AND EXISTS (
         SELECT FROM sendonce.channels ch WHERE ch.provider_id = p.id AND ch.namespace = ANY (%(namespaces)s::text[])))
 ORDER BY p.namespace, p.kind, p.name LIMIT %(limit)s;

-- name: limits
-- `used`: messages of the burst that are taken and have not come back yet, half of a burst being given out ahead.
SELECT l.provider_id, l.messages, l.period_seconds, l.burst,
       least(l.burst, ceil(greatest(extract(epoch FROM l.tat - now()), 0) * l.messages / l.period_seconds))::bigint AS used
  FROM sendonce.pace_limits l WHERE l.provider_id = ANY (%(ids)s::bigint[]) AND l.tat > '-infinity'
UNION ALL
SELECT l.provider_id, l.messages, l.period_seconds, l.burst, 0
  FROM sendonce.pace_limits l WHERE l.provider_id = ANY (%(ids)s::bigint[]) AND l.tat = '-infinity'
 ORDER BY 1, 3, 2;

-- name: errors
-- Of the newest 300 notes of each of the campaigns, those over the provider, alike ones together.
SELECT a.outcome, a.code, count(*) AS count, max(a.at) AS latest_at, max(a.message) AS message
  FROM unnest(%(campaigns)s::bigint[]) AS c(id)
 CROSS JOIN LATERAL (
   SELECT n.* FROM sendonce.attempts n WHERE n.campaign_id = c.id ORDER BY n.id DESC LIMIT 300) a
  JOIN sendonce.batches b ON b.id = a.batch_id AND b.provider_id = %(provider)s
 WHERE a.outcome NOT IN ('accepted', 'recovered')
 GROUP BY a.outcome, a.code ORDER BY max(a.at) DESC LIMIT 20;

-- name: newest_campaigns
-- Of the namespaces, that use the provider, going on or not.
SELECT ch.campaign_id AS id FROM sendonce.channels ch
 WHERE ch.provider_id = %(provider)s AND ch.namespace = ANY (%(namespaces)s::text[])
 ORDER BY ch.campaign_id DESC LIMIT 20;
