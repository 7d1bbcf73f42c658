-- What is open in the queue, for whoever watches over it from outside. Nothing here locks or writes.

-- name: backlog
-- One row for each active campaign and provider that has open batches (an import has no provider), through the index of
-- open batches. `ready`: deliveries in batches that are held or due; `open`: all of them. `silent`: seconds since the last
-- heartbeat of the held batch that has been silent for longest. `stuck`: leases that have run out and that nobody has
-- taken over. Both only where workers are wanted: while a campaign or its provider stands still, nobody is there to
-- take a batch over, unless messages were in flight.
WITH open AS (
  SELECT b.campaign_id, b.provider_id, b.pending + b.sending AS rows, b.heartbeat_at, b.claimable_at,
         b.state = 'leased' AS held,
         b.state = 'leased' AND (b.sending > 0 OR NOT (
           c.suspended OR c.halt_reason IS NOT NULL OR c.cancelled_at IS NOT NULL OR coalesce(c.start_at > now(), false)
           OR coalesce(p.suspended OR p.paused_until > now(), false))) AS watched,
         p.kind, p.namespace, p.name
    FROM sendonce.campaigns c
    JOIN sendonce.batches b ON b.campaign_id = c.id AND b.state <> 'done'
    LEFT JOIN sendonce.providers p ON p.id = b.provider_id
   WHERE c.ended IS NULL
)
SELECT campaign_id, coalesce(kind, '') AS kind, coalesce(namespace, '') AS namespace, coalesce(name, '') AS provider,
       coalesce(sum(rows) FILTER (WHERE held OR claimable_at <= now()), 0)::bigint AS ready,
       coalesce(sum(rows), 0)::bigint AS open,
       coalesce(extract(epoch FROM now() - min(heartbeat_at) FILTER (WHERE watched)), 0)::float8 AS silent,
       count(*) FILTER (WHERE watched AND claimable_at < now()) AS stuck
  FROM open
 GROUP BY campaign_id, provider_id, kind, namespace, name;
