-- Campaigns and providers: made once per send key, adopted ever after.

-- name: sync_provider
INSERT INTO sendonce.providers (namespace, kind, name, spec, suspended)
VALUES (%(namespace)s, %(kind)s, %(name)s, %(spec)s, %(suspended)s)
ON CONFLICT (namespace, kind, name)
   DO UPDATE SET spec = excluded.spec, suspended = excluded.suspended, updated_at = now()
RETURNING id;

-- name: sync_limits
-- A limit that stays the same keeps its place in time: an edit elsewhere gives nobody a fresh burst.
WITH wanted AS (
  SELECT * FROM unnest(%(nos)s::int[], %(messages)s::int[], %(periods)s::int[], %(bursts)s::int[])
             AS l(no, messages, period_seconds, burst)
), gone AS (
  DELETE FROM sendonce.pace_limits l
   WHERE l.provider_id = %(provider)s AND l.no NOT IN (SELECT no FROM wanted)
)
INSERT INTO sendonce.pace_limits (provider_id, no, namespace, messages, period_seconds, burst)
SELECT %(provider)s, w.no, %(namespace)s, w.messages, w.period_seconds, w.burst FROM wanted w
ON CONFLICT (provider_id, no) DO UPDATE
   SET messages = excluded.messages, period_seconds = excluded.period_seconds, burst = excluded.burst;

-- name: provider_specs
SELECT ch.channel, ch.provider_id, ch.after_channel, ch.after_states, p.namespace, p.kind, p.name, p.spec, p.suspended,
       c.cap_messages IS NOT NULL AS capped
  FROM sendonce.channels ch
  JOIN sendonce.providers p ON p.id = ch.provider_id
  JOIN sendonce.campaigns c ON c.id = ch.campaign_id
 WHERE ch.campaign_id = %(campaign)s ORDER BY ch.no;

-- name: insert_campaign
INSERT INTO sendonce.campaigns (namespace, send_key, name, owner_uid, content_hash, spec, category, topic, priority,
                                start_at, deadline, suspended, held, stream, closed_at,
                                cap_messages, cap_days, applied_by, rollout_stage)
VALUES (%(namespace)s, %(send_key)s, %(name)s, %(owner_uid)s, %(content_hash)s, %(spec)s, %(category)s, %(topic)s,
        %(priority)s, %(start_at)s, %(deadline)s, %(suspended)s, %(held)s,
        %(stream)s, CASE WHEN %(close)s THEN now() END, %(cap_messages)s, %(cap_days)s, %(applied_by)s,
        CASE WHEN %(canary)s THEN 'importing' ELSE 'none' END)
ON CONFLICT (namespace, send_key) DO NOTHING
RETURNING id;

-- name: insert_channel
INSERT INTO sendonce.channels (campaign_id, channel, namespace, no, provider_id, after_channel, after_states, after_no_address)
VALUES (%(campaign)s, %(channel)s, %(namespace)s, %(no)s, %(provider)s, %(after_channel)s, %(after_states)s, %(after_no_address)s);

-- name: insert_import_batch
INSERT INTO sendonce.batches (namespace, campaign_id, kind, claimable_at)
VALUES (%(namespace)s, %(campaign)s, 'import', now());

-- name: insert_stream
INSERT INTO sendonce.streams (campaign_id, namespace) VALUES (%(campaign)s, %(namespace)s);

-- name: campaign_by_key
SELECT * FROM sendonce.campaigns WHERE namespace = %(namespace)s AND send_key = %(send_key)s;

-- name: campaign_by_id
SELECT * FROM sendonce.campaigns WHERE id = %(campaign)s;

-- name: update_mutable
-- The fields of the spec that may change while a campaign runs.
UPDATE sendonce.campaigns
   SET spec = %(spec)s, priority = %(priority)s, start_at = %(start_at)s, deadline = %(deadline)s,
       suspended = %(suspended)s, name = %(name)s, owner_uid = %(owner_uid)s, generation = generation + 1,
       cap_messages = %(cap_messages)s, cap_days = %(cap_days)s,
       closed_at = CASE WHEN %(close)s THEN coalesce(closed_at, now()) ELSE closed_at END
 WHERE id = %(campaign)s;

-- name: store_id
SELECT id::text AS id FROM sendonce.store;

-- name: set_suspended
UPDATE sendonce.campaigns SET suspended = %(suspended)s WHERE id = %(campaign)s RETURNING id;

-- name: halt
-- Stop the hand-off until a person resumes; the first reason stays.
UPDATE sendonce.campaigns SET halt_reason = %(reason)s, halt_message = %(message)s
 WHERE id = %(campaign)s AND halt_reason IS NULL AND ended IS NULL
RETURNING id;

-- name: resume
UPDATE sendonce.campaigns c
   SET halt_reason = NULL, halt_message = NULL, base_failed = n.failed, base_final = n.final
  FROM (SELECT coalesce(sum(failed), 0) AS failed,
               coalesce(sum(sent + failed + uncertain + suppressed + expired + cancelled), 0) AS final
          FROM sendonce.batches WHERE campaign_id = %(campaign)s AND kind = 'send') n
 WHERE c.id = %(campaign)s AND c.halt_reason IS NOT NULL
RETURNING c.id;

-- name: order_cancel
UPDATE sendonce.campaigns SET cancelled_at = now()
 WHERE id = %(campaign)s AND cancelled_at IS NULL AND ended IS NULL RETURNING id;

-- name: register_worker
INSERT INTO sendonce.workers (id, namespace, campaign_id) VALUES (%(worker)s, %(namespace)s, %(campaign)s);

-- name: worker_beat
UPDATE sendonce.workers SET heartbeat_at = now(), problem = %(problem)s WHERE id = %(worker)s;

-- name: worker_stopped
UPDATE sendonce.workers SET stopped_at = now() WHERE id = %(worker)s;

-- name: lock_rollout
SELECT rollout_stage FROM sendonce.campaigns WHERE id = %(campaign)s FOR NO KEY UPDATE;

-- name: find_provider
SELECT id FROM sendonce.providers WHERE namespace = %(namespace)s AND kind = %(kind)s AND name = %(name)s;
