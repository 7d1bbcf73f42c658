-- The read side: what people ask about campaigns, recipients and dead letters. Nothing here locks or writes.

-- name: campaign_id
-- By its send key, which is its identity; else the newest of that name.
SELECT id FROM sendonce.campaigns
 WHERE namespace = %(namespace)s AND (send_key = %(campaign)s OR name = %(campaign)s)
 ORDER BY send_key = %(campaign)s DESC, created_at DESC, id DESC LIMIT 1;

-- name: campaign_of_send_key
SELECT id FROM sendonce.campaigns WHERE namespace = %(namespace)s AND send_key = %(send_key)s;

-- name: campaign_names
SELECT send_key FROM sendonce.campaigns
 WHERE namespace = %(namespace)s AND starts_with(send_key, %(prefix)s) ORDER BY created_at DESC LIMIT 50;

-- name: overviews
-- Counts come from the batches' counters, never from the deliveries: the cost does not grow with the recipients.
-- Of the campaigns in `ids`, or else of the newest of a namespace.
SELECT c.id, c.namespace, c.send_key, c.name, c.category, c.topic, c.priority, c.start_at, c.deadline, c.suspended,
       c.halt_reason, c.halt_message, c.cancelled_at IS NOT NULL AS cancelled, c.import_state, c.import_message, c.held,
       c.rollout_stage, c.rollout_since, c.total, c.duplicates, c.rejected, c.unreachable, c.created_at, c.started_at,
       c.ended, c.ended_reason, c.ended_message, c.completed_at, c.final_counts, c.data_deleted_at, now() AS now,
       c.stream, c.closed_at IS NOT NULL AS closed,
       n.*, p.*, w.*, nxt.reason AS wait_reason, nxt.code AS wait_code
  FROM sendonce.campaigns c
 CROSS JOIN LATERAL (
   SELECT coalesce(sum(b.pending), 0)::bigint AS pending, coalesce(sum(b.sending), 0)::bigint AS sending,
          coalesce(sum(b.sent), 0)::bigint AS sent, coalesce(sum(b.failed), 0)::bigint AS failed,
          coalesce(sum(b.uncertain), 0)::bigint AS uncertain, coalesce(sum(b.suppressed), 0)::bigint AS suppressed,
          coalesce(sum(b.expired), 0)::bigint AS expired, coalesce(sum(b.cancelled), 0)::bigint AS cancelled_rows,
          coalesce(sum(b.delivered), 0)::bigint AS delivered, coalesce(sum(b.bounced), 0)::bigint AS bounced,
          count(*) AS batches, count(*) FILTER (WHERE b.state = 'leased') AS leased_batches,
          count(*) FILTER (WHERE b.state = 'done') AS done_batches,
          -- as `claim` takes them: not what a provider holds back; one whose pause is over soon is worth waiting for
          coalesce(sum(b.pending) FILTER (WHERE b.state = 'pending' AND b.claimable_at <= now() AND v.suspended IS NOT TRUE
                                            AND (v.paused_until <= now() + make_interval(secs => %(soon)s)
                                                 OR v.paused_until IS NULL)), 0)::bigint AS due,
          coalesce(sum(b.pending) FILTER (WHERE b.state = 'pending' AND b.claimable_at > now()
                                            AND b.claimable_at < 'infinity'), 0)::bigint AS waiting,
          min(greatest(b.claimable_at, v.paused_until))
            FILTER (WHERE b.state = 'pending' AND b.pending > 0 AND greatest(b.claimable_at, v.paused_until) > now()
                      AND b.claimable_at < 'infinity' AND v.suspended IS NOT TRUE) AS next_due,
          coalesce(sum(b.pending + b.sending + b.sent + b.failed + b.uncertain + b.suppressed + b.expired + b.cancelled)
                     FILTER (WHERE b.stage = 'canary'), 0)::bigint AS canary_total,
          coalesce(sum(b.sent) FILTER (WHERE b.stage = 'canary'), 0)::bigint AS canary_sent,
          coalesce(sum(b.failed) FILTER (WHERE b.stage = 'canary'), 0)::bigint AS canary_failed
     FROM sendonce.batches b LEFT JOIN sendonce.providers v ON v.id = b.provider_id
    WHERE b.campaign_id = c.id AND b.kind = 'send') n
 CROSS JOIN LATERAL (
   SELECT max(v.paused_until) FILTER (WHERE v.paused_until > now()) AS provider_paused_until,
          (array_agg(v.name ORDER BY v.paused_until DESC) FILTER (WHERE v.paused_until > now()))[1] AS paused_provider,
          (array_agg(v.pause_message ORDER BY v.paused_until DESC) FILTER (WHERE v.paused_until > now()))[1]
            AS pause_message,
          (array_agg(v.name) FILTER (WHERE v.suspended))[1] AS suspended_provider
     FROM sendonce.channels ch JOIN sendonce.providers v ON v.id = ch.provider_id WHERE ch.campaign_id = c.id) p
 CROSS JOIN LATERAL (
   SELECT count(*) FILTER (WHERE k.stopped_at IS NULL AND k.heartbeat_at > now() - make_interval(secs => %(alive)s))
            AS workers_alive,
          (array_agg(k.problem ORDER BY k.heartbeat_at DESC) FILTER (WHERE k.problem IS NOT NULL AND k.stopped_at IS NULL
             AND k.heartbeat_at > now() - make_interval(secs => %(alive)s)))[1] AS worker_problem
     FROM sendonce.workers k WHERE k.campaign_id = c.id) w
  -- why the batch that is due next waits, told by the row it waits for
  LEFT JOIN LATERAL (
    SELECT d.reason, d.code
      FROM (SELECT b.id FROM sendonce.batches b
             WHERE b.campaign_id = c.id AND b.kind = 'send' AND b.state = 'pending' AND b.pending > 0
               AND b.claimable_at > now() AND b.claimable_at < 'infinity'
             ORDER BY b.claimable_at LIMIT 1) first
      JOIN sendonce.deliveries d ON d.batch_id = first.id AND d.state = 'pending'
     ORDER BY d.next_attempt_at LIMIT 1) nxt ON true
 WHERE c.id = ANY (coalesce(%(ids)s::bigint[], ARRAY(
   SELECT m.id FROM sendonce.campaigns m
    WHERE m.namespace = %(namespace)s AND (%(campaign)s::bigint IS NULL OR m.id = %(campaign)s)
    ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s)))
 ORDER BY c.created_at DESC, c.id DESC;

-- name: channel_counts
SELECT b.channel, sum(b.pending)::bigint AS pending, sum(b.sending)::bigint AS sending, sum(b.sent)::bigint AS sent,
       sum(b.failed)::bigint AS failed, sum(b.uncertain)::bigint AS uncertain, sum(b.suppressed)::bigint AS suppressed,
       sum(b.expired)::bigint AS expired, sum(b.cancelled)::bigint AS cancelled
  FROM sendonce.batches b
 WHERE b.campaign_id = %(campaign)s AND b.kind = 'send' GROUP BY b.channel ORDER BY b.channel;

-- name: retries
-- Rows that wait for their next attempt, from the batches that are open: read when a person asks, not at each refresh.
SELECT count(*) AS waiting, min(d.next_attempt_at) AS first, max(d.next_attempt_at) AS last
  FROM sendonce.batches b JOIN sendonce.deliveries d ON d.batch_id = b.id
 WHERE b.campaign_id = %(campaign)s AND b.kind = 'send' AND b.state <> 'done'
   AND d.state = 'pending' AND d.next_attempt_at > now();

-- name: workers
SELECT id, started_at, heartbeat_at, stopped_at, problem,
       extract(epoch FROM now() - heartbeat_at)::float8 AS silent_seconds
  FROM sendonce.workers WHERE campaign_id = %(campaign)s
 ORDER BY stopped_at IS NULL DESC, heartbeat_at DESC LIMIT %(limit)s;

-- name: outcomes
-- Ended deliveries by state, reason and the far end's code, with one of its answers; dead letters and what was not sent.
SELECT d.state, d.channel, d.reason, d.code, count(*) AS count, max(d.error) AS error
  FROM sendonce.batches b JOIN sendonce.deliveries d ON d.batch_id = b.id
 WHERE b.campaign_id = %(campaign)s AND b.kind = 'send'
   AND b.failed + b.uncertain + b.suppressed + b.expired + b.cancelled > 0
   AND d.state = ANY (%(states)s)
   AND (%(reasons)s::text[] IS NULL OR d.reason = ANY (%(reasons)s))
   AND (%(codes)s::text[] IS NULL OR d.code = ANY (%(codes)s))
   AND (%(channels)s::text[] IS NULL OR d.channel = ANY (%(channels)s))
 GROUP BY d.state, d.channel, d.reason, d.code ORDER BY count(*) DESC, d.state, d.channel, d.reason, d.code;

-- name: deliveries
-- In the order of batches, from a place on. A batch without a row of the states asked for is passed over unread.
SELECT d.batch_id, d.no, d.recipient_no AS line, r.ref, d.channel, r.addresses -> d.channel ->> 0 AS address,
       d.state, d.reason, d.code, d.error, d.attempt_seq AS attempts, d.last_attempt_at, d.next_attempt_at, d.finished_at
  FROM sendonce.batches b
  JOIN sendonce.deliveries d ON d.batch_id = b.id
  JOIN sendonce.recipients r ON r.campaign_id = d.campaign_id AND r.no = d.recipient_no
 WHERE b.campaign_id = %(campaign)s AND b.kind = 'send' AND (b.id, d.no) > (%(after_batch)s, %(after_no)s)
   AND b.id >= %(after_batch)s
   AND (%(states)s::text[] IS NULL OR (d.state = ANY (%(states)s)
        AND CASE WHEN 'pending' = ANY (%(states)s) THEN b.pending ELSE 0 END
          + CASE WHEN 'sending' = ANY (%(states)s) THEN b.sending ELSE 0 END
          + CASE WHEN 'sent' = ANY (%(states)s) THEN b.sent ELSE 0 END
          + CASE WHEN 'failed' = ANY (%(states)s) THEN b.failed ELSE 0 END
          + CASE WHEN 'uncertain' = ANY (%(states)s) THEN b.uncertain ELSE 0 END
          + CASE WHEN 'suppressed' = ANY (%(states)s) THEN b.suppressed ELSE 0 END
          + CASE WHEN 'expired' = ANY (%(states)s) THEN b.expired ELSE 0 END
          + CASE WHEN 'cancelled' = ANY (%(states)s) THEN b.cancelled ELSE 0 END > 0))
   AND (%(reasons)s::text[] IS NULL OR d.reason = ANY (%(reasons)s))
   AND (%(codes)s::text[] IS NULL OR d.code = ANY (%(codes)s))
   AND (%(channels)s::text[] IS NULL OR d.channel = ANY (%(channels)s))
   AND (%(search)s::text IS NULL OR strpos(lower(r.ref), lower(%(search)s)) > 0
        OR strpos(d.address, lower(%(search)s)) > 0 OR strpos(lower(r.addresses::text), lower(%(search)s)) > 0)
 ORDER BY b.id, d.no LIMIT %(limit)s;

-- name: unreachable
-- People for whom there is no delivery, because they have no address on any channel of the campaign.
SELECT r.no AS line, r.ref FROM sendonce.recipients r
 WHERE r.campaign_id = %(campaign)s AND r.no > %(after)s
   AND NOT r.addresses ?| ARRAY(SELECT ch.channel FROM sendonce.channels ch WHERE ch.campaign_id = %(campaign)s)
 ORDER BY r.no LIMIT %(limit)s;

-- name: rejects
SELECT line, field, reason, excerpt FROM sendonce.import_rejects
 WHERE campaign_id = %(campaign)s AND line > %(after)s ORDER BY line LIMIT %(limit)s;

-- name: rejects_about
-- Refused rows that a person may be: by line, or by what is kept of the row.
SELECT line, field, reason, excerpt FROM sendonce.import_rejects
 WHERE campaign_id = %(campaign)s
   AND (line = %(line)s::bigint OR strpos(lower(excerpt), lower(%(text)s)) > 0) ORDER BY line LIMIT 5;

-- name: recipients_by_ref
SELECT no, ref, addresses, timezone, locale, variables FROM sendonce.recipients
 WHERE campaign_id = %(campaign)s AND ref = %(text)s ORDER BY no LIMIT 20;

-- name: recipients_by_line
SELECT no, ref, addresses, timezone, locale, variables FROM sendonce.recipients
 WHERE campaign_id = %(campaign)s AND no = %(line)s;

-- name: recipients_by_delivery
-- Through the unique key of deliveries, channel by channel.
SELECT r.no, r.ref, r.addresses, r.timezone, r.locale, r.variables
  FROM unnest(%(channels)s::text[], %(addresses)s::text[]) AS a(channel, address)
  JOIN sendonce.deliveries d ON d.campaign_id = %(campaign)s AND d.channel = a.channel AND d.address = a.address
  JOIN sendonce.recipients r ON r.campaign_id = d.campaign_id AND r.no = d.recipient_no
 ORDER BY r.no LIMIT 20;

-- name: recipients_by_address
-- The last resort, over all recipients: an address as it was written, or one that has no delivery.
SELECT r.no, r.ref, r.addresses, r.timezone, r.locale, r.variables FROM sendonce.recipients r
 WHERE r.campaign_id = %(campaign)s
   AND EXISTS (SELECT FROM jsonb_each(r.addresses) a WHERE a.value ? %(text)s)
 ORDER BY r.no LIMIT 20;

-- name: deliveries_of_recipient
-- A person whose address an earlier line had too has that line's delivery. MATERIALIZED: an expression over JSON is not
-- let into the index of a table with row-level security, a column is.
WITH own AS MATERIALIZED (
  SELECT a.key AS channel, a.value ->> 1 AS address
    FROM sendonce.recipients r CROSS JOIN LATERAL jsonb_each(r.addresses) a
   WHERE r.campaign_id = %(campaign)s AND r.no = %(line)s
)
SELECT d.batch_id, d.no, d.recipient_no AS line, d.channel, d.address, d.key::text AS key, d.state, d.reason, d.code, d.error,
       d.message_id, d.attempt_seq, d.tries, d.maybe_accepted, d.evidence, d.resend_ordered, d.worker, d.digest,
       d.first_attempt_at, d.last_attempt_at, d.next_attempt_at, d.finished_at, d.receipt, d.receipt_at, v.name AS provider
  FROM own
  JOIN sendonce.deliveries d ON d.campaign_id = %(campaign)s AND d.channel = own.channel AND d.address = own.address
                            AND (d.occasion = '' OR d.recipient_no = %(line)s)
  JOIN sendonce.batches b ON b.id = d.batch_id
  LEFT JOIN sendonce.providers v ON v.id = b.provider_id
  LEFT JOIN sendonce.channels ch ON ch.campaign_id = d.campaign_id AND ch.channel = d.channel
 ORDER BY ch.no;

-- name: attempts_of_delivery
SELECT seq, at, worker, outcome, late, code, message FROM sendonce.attempts
 WHERE batch_id = %(batch)s AND no = %(no)s ORDER BY id LIMIT 200;

-- name: refusals_of_address
-- What keeps a campaign from an address: a hard suppression, an opt-out of its category or topic.
SELECT 'suppressed' AS kind, s.reason, NULL AS category, NULL AS topic, s.source, s.created_at
  FROM sendonce.suppressions s
 WHERE s.namespace = %(namespace)s AND s.channel = %(channel)s AND s.address = %(address)s
UNION ALL
SELECT 'opted out', NULL, o.category, o.topic, o.source, o.created_at
  FROM sendonce.opt_outs o
 WHERE o.namespace = %(namespace)s AND o.channel = %(channel)s AND o.address = %(address)s
   AND o.category = %(category)s AND o.topic IN ('', coalesce(%(topic)s, ''));

-- name: provider_spec
SELECT spec FROM sendonce.providers WHERE namespace = %(namespace)s AND kind = %(kind)s AND name = %(name)s;

-- name: longest_timeout
-- How long a hand-off of this campaign can be under way, as its providers are set now.
SELECT coalesce(max(coalesce((v.spec ->> 'timeoutSeconds')::int, 30)), 30) AS seconds
  FROM sendonce.channels ch JOIN sendonce.providers v ON v.id = ch.provider_id WHERE ch.campaign_id = %(campaign)s;

-- name: frozen
SELECT spec, category, topic FROM sendonce.campaigns WHERE id = %(campaign)s;
