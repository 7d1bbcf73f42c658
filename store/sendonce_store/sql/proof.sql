-- What a proof of a finished campaign says. Read in one snapshot, and nothing is locked.

-- name: snapshot
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: campaign
SELECT c.*, s.id::text AS store_id, now() AS made_at
  FROM sendonce.campaigns c CROSS JOIN sendonce.store s
 WHERE c.id = %(campaign)s;

-- name: groups
-- Every delivery once. LATERAL with its own GROUP BY: batch by batch, by their key; the planner would else read the
-- deliveries of all campaigns. `state`: by channel, state and reason, complete; `reason`: what was not sent, also by the
-- far end's code, the most frequent ones. A far end may invent a code for each message: what is returned is bounded.
WITH counted AS MATERIALIZED (
  SELECT g.channel, g.state, g.reason, g.code, sum(g.count)::bigint AS count, min(g.first) AS first, max(g.last) AS last,
         max(g.message COLLATE "C") AS message
    FROM sendonce.batches b
   CROSS JOIN LATERAL (
     SELECT d.channel, d.state, d.reason, CASE WHEN d.state <> 'sent' THEN d.code END AS code, count(*) AS count,
            min(d.first_attempt_at) AS first, max(d.last_attempt_at) AS last,
            max(d.error COLLATE "C") FILTER (WHERE d.state <> 'sent') AS message
       FROM sendonce.deliveries d WHERE d.batch_id = b.id GROUP BY 1, 2, 3, 4) g
   WHERE b.campaign_id = %(campaign)s AND b.kind = 'send'
   GROUP BY 1, 2, 3, 4
)
SELECT 'state' AS kind, channel, state, reason, NULL AS code, sum(count)::bigint AS count, min(first) AS first,
       max(last) AS last, NULL AS message
  FROM counted GROUP BY channel, state, reason
UNION ALL
SELECT 'reason', f.* FROM (
  SELECT channel, state, reason, code, count, first, last, message FROM counted
   WHERE state <> 'sent' ORDER BY count DESC, channel, state, reason, code LIMIT %(most)s) f;

-- name: rows
-- What the counters of the campaign are held against.
SELECT (SELECT count(*) FROM sendonce.recipients r WHERE r.campaign_id = %(campaign)s) AS people,
       (SELECT count(*) FROM sendonce.import_rejects j WHERE j.campaign_id = %(campaign)s) AS refused;

-- name: repeats
-- Deliveries with more than one attempt that was, or may have been, accepted. An attempt that simply ended as sent is
-- told by the delivery alone, as the last one; others are noted. A repeat is covered by its key where all attempts
-- lie within the time for which the provider remembers it.
WITH noted AS (
  SELECT a.batch_id, a.no,
         count(DISTINCT a.seq) FILTER (WHERE a.outcome = 'accepted') AS accepted,
         count(DISTINCT a.seq) AS doubted
    FROM sendonce.attempts a
   WHERE a.campaign_id = %(campaign)s AND a.outcome IN ('accepted', 'unknown', 'recovered', 'restored')
   GROUP BY a.batch_id, a.no
), judged AS (
  SELECT n.accepted + (untold.last AND d.state = 'sent' AND d.reason IS DISTINCT FROM 'resolved')::int AS accepted,
         n.doubted + (untold.last AND d.state IN ('sent', 'uncertain'))::int AS possible,
         -- `least`: an attempt that a restored store has forgotten is known by the key's first use alone
         coalesce(d.last_attempt_at - least(d.first_attempt_at, d.key_first_used_at)
                    <= make_interval(secs => w.seconds), false) AS covered
    FROM noted n
    JOIN sendonce.deliveries d ON d.batch_id = n.batch_id AND d.no = n.no
    JOIN sendonce.batches b ON b.id = d.batch_id
   CROSS JOIN LATERAL (
     SELECT NOT EXISTS (SELECT FROM sendonce.attempts a
                         WHERE a.batch_id = d.batch_id AND a.no = d.no AND a.seq = d.attempt_seq) AS last) untold
    LEFT JOIN unnest(%(providers)s::bigint[], %(windows)s::float8[]) AS w(provider, seconds) ON w.provider = b.provider_id
)
SELECT count(*) FILTER (WHERE accepted > 1 AND NOT covered) AS twice,
       count(*) FILTER (WHERE accepted > 1 AND covered) AS twice_under_one_key,
       count(*) FILTER (WHERE accepted <= 1 AND possible > 1 AND NOT covered) AS possible
  FROM judged;

-- name: actions
SELECT a.name, a.type, a.started_at AS at, a.finished_at IS NOT NULL AS done, a.matched, a.changed, a.message,
       a.spec ->> 'resolveAs' AS resolve_as, a.spec ->> 'requestedBy' AS by
  FROM sendonce.actions a WHERE a.campaign_id = %(campaign)s ORDER BY a.started_at, a.name LIMIT %(most)s;
