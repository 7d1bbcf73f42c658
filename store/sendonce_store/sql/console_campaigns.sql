-- What the console shows of campaigns. Nothing here counts a campaign's rows: counts come from the batches' counters,
-- and what has no counter is read from a bounded part and said to be so.

-- name: page
-- The newest first, from behind one on: campaigns are numbered as they come. How one stands that has not ended is
-- decided from its overview, so a wished reason only leaves out those that ended with another one.
SELECT c.id FROM sendonce.campaigns c
 WHERE c.namespace = ANY (%(namespaces)s::text[]) AND c.id < %(before)s
   AND (%(text)s::text IS NULL OR strpos(lower(c.name), %(text)s) > 0 OR strpos(lower(c.send_key), %(text)s) > 0)
   AND (%(reason)s::text IS NULL OR c.ended IS NULL OR c.ended_reason = %(reason)s)
 ORDER BY c.id DESC LIMIT %(limit)s;

-- name: records
SELECT c.id, c.applied_by, c.owned_at, c.content_hash, c.spec FROM sendonce.campaigns c WHERE c.id = ANY (%(ids)s::bigint[]);

-- name: recent
-- Deliveries that ended in the last minute, by provider: from the batches that were worked on since, the twenty newest
-- at most; where those are not all, the span is as short as they reach back.
SELECT c.id AS campaign_id, r.provider_id, count(d.no) AS ended,
       greatest(extract(epoch FROM now() - s.since), 1)::float8 AS seconds
  FROM unnest(%(ids)s::bigint[]) AS c(id)
 CROSS JOIN LATERAL (
   SELECT array_agg(b.id) AS ids,
          CASE WHEN count(*) < 20 THEN now() - interval '60 seconds' ELSE min(b.heartbeat_at) END AS since
     FROM (SELECT b.id, b.heartbeat_at FROM sendonce.batches b
            WHERE b.campaign_id = c.id AND b.kind = 'send' AND b.heartbeat_at > now() - interval '60 seconds'
            ORDER BY b.heartbeat_at DESC LIMIT 20) b) s
  JOIN sendonce.batches r ON r.id = ANY (s.ids)
  JOIN sendonce.deliveries d ON d.batch_id = r.id AND d.finished_at > s.since AND d.attempt_seq > 0
 GROUP BY c.id, r.provider_id, s.since;

-- name: over_time
-- How many deliveries ended in each part of a span. One row in `step` is looked at, from every batch, so the cost is
-- bounded and the picture is true to a few per cent; with step 1 it is exact. LATERAL with LIMIT: rows are looked up one
-- by one by their key; the planner would else read every batch as a whole.
SELECT width_bucket(extract(epoch FROM d.finished_at), extract(epoch FROM %(since)s::timestamptz),
                    extract(epoch FROM %(until)s::timestamptz), %(parts)s) AS part,
       count(*) FILTER (WHERE d.state = 'sent') AS sent, count(*) FILTER (WHERE d.state <> 'sent') AS others
  FROM sendonce.batches b
 CROSS JOIN LATERAL generate_series(1 + (b.id %% %(step)s)::int, 500, %(step)s) AS n(no)
 CROSS JOIN LATERAL (
   SELECT r.finished_at, r.state, r.attempt_seq FROM sendonce.deliveries r
    WHERE r.batch_id = b.id AND r.no = n.no LIMIT 1) d
 WHERE b.campaign_id = %(campaign)s AND b.kind = 'send' AND b.id %% %(skip)s = 0
   AND d.finished_at >= %(since)s AND d.finished_at < %(until)s AND d.attempt_seq > 0
 GROUP BY 1 ORDER BY 1;

-- name: span
-- From the first hand-off, as far as batches tell it.
SELECT min(b.leased_at) AS first, max(b.heartbeat_at) AS last
  FROM sendonce.batches b WHERE b.campaign_id = %(campaign)s AND b.kind = 'send';

-- name: imported
-- The import's batch: when it began, and when it was last heard of.
SELECT b.leased_at, b.heartbeat_at, b.state FROM sendonce.batches b
 WHERE b.campaign_id = %(campaign)s AND b.kind = 'import' ORDER BY b.id LIMIT 1;

-- name: disturbances
-- Of the newest 5,000 notes of attempts, those that stand for more than one recipient: the far end throttled, refused
-- the account or could not be reached, or a worker was gone. One line for each minute.
SELECT date_trunc('minute', a.at) AS minute, a.outcome, min(a.at) AS first, max(a.at) AS last, count(*) AS count,
       count(DISTINCT a.worker) AS workers, max(a.worker) AS worker, max(a.code) AS code, max(a.message) AS message
  FROM (SELECT at, outcome, worker, code, message FROM sendonce.attempts
         WHERE campaign_id = %(campaign)s ORDER BY id DESC LIMIT 5000) a
 WHERE a.outcome IN ('rate_limited', 'account', 'recovered')
    OR (a.outcome = 'temporary' AND a.code = ANY (%(outages)s))
 GROUP BY 1, 2 ORDER BY 1 DESC, 2 LIMIT 100;

-- name: leases
-- What each worker holds; a lease that has run out is taken over by whoever looks next.
SELECT b.worker, count(*) AS batches, min(b.heartbeat_at) AS heartbeat_at,
       extract(epoch FROM min(b.claimable_at) - now())::float8 AS left
  FROM sendonce.batches b WHERE b.campaign_id = %(campaign)s AND b.state = 'leased' GROUP BY b.worker;
