-- What the operator asks and writes: who owns a send key, which campaigns are active, what went wrong most often.

-- name: campaign_of_key
-- `untouched`: no worker has ever looked at it, so that its content may still be replaced by an edit of the object.
-- `owner_silent`: seconds since an operator looked after the owner; null when nobody has.
SELECT c.id, c.namespace, c.send_key, c.name, c.owner_uid, c.generation, c.content_hash, c.spec, c.created_at,
       c.owned_at, c.started_at, c.ended, c.ended_reason, c.ended_message, c.completed_at, c.cancelled_at,
       c.data_deleted_at,
       extract(epoch FROM now() - c.owner_seen_at)::float8 AS owner_silent,
       c.import_state = 'pending' AND c.started_at IS NULL AND c.ended IS NULL AND c.cancelled_at IS NULL
         AND NOT EXISTS (SELECT FROM sendonce.workers w WHERE w.campaign_id = c.id)
         AND NOT EXISTS (SELECT FROM sendonce.batches b WHERE b.campaign_id = c.id AND (b.claims > 0 OR b.kind <> 'import'))
         AND NOT EXISTS (SELECT FROM sendonce.inbox i WHERE i.campaign_id = c.id)
         AS untouched
  FROM sendonce.campaigns c WHERE c.namespace = %(namespace)s AND c.send_key = %(send_key)s;

-- name: lock
SELECT id FROM sendonce.campaigns WHERE id = %(campaign)s FOR UPDATE;

-- name: own
-- The object of `uid` acts for the campaign from now on, in the spec of `generation`. An operator that still holds an
-- older generation, or an object that another one has replaced, changes nothing: zero rows. Who comes when a campaign has
-- ended changes of its spec only for how many days its data is kept; its owner's edits count, for a Retry may follow.
UPDATE sendonce.campaigns c
   SET spec = CASE WHEN c.ended IS NULL OR c.owner_uid = %(owner_uid)s THEN %(spec)s::jsonb
                   ELSE c.spec || jsonb_build_object('dataRetentionDays', %(spec)s::jsonb -> 'dataRetentionDays') END,
       priority = %(priority)s, start_at = %(start_at)s, deadline = %(deadline)s, suspended = %(suspended)s,
       closed_at = CASE WHEN %(close)s AND c.ended IS NULL THEN coalesce(c.closed_at, now()) ELSE c.closed_at END,
       cap_messages = %(cap_messages)s, cap_days = %(cap_days)s,
       name = %(name)s, applied_by = coalesce(%(applied_by)s, applied_by), owner_uid = %(owner_uid)s, generation = %(generation)s, owner_seen_at = now(),
       owned_at = CASE WHEN c.owner_uid IS DISTINCT FROM %(owner_uid)s THEN now() ELSE c.owned_at END
 WHERE c.id = %(campaign)s
   AND c.owner_uid IS NOT DISTINCT FROM %(previous_uid)s
   AND (c.owner_uid IS DISTINCT FROM %(owner_uid)s OR c.generation <= %(generation)s)
RETURNING c.id;

-- name: refreeze
-- The object was edited before anything of it was used. Under the row's lock, with `untouched` asked again.
UPDATE sendonce.campaigns
   SET content_hash = %(content_hash)s, category = %(category)s, topic = %(topic)s, held = %(held)s,
       stream = %(stream)s,
       rollout_stage = CASE WHEN %(canary)s THEN 'importing' ELSE 'none' END
 WHERE id = %(campaign)s;

-- name: drop_channels
DELETE FROM sendonce.channels WHERE campaign_id = %(campaign)s;

-- name: drop_import
DELETE FROM sendonce.batches WHERE campaign_id = %(campaign)s AND kind = 'import' AND claims = 0;

-- name: drop_stream
-- Waits for who is about to enqueue: he finds it gone, and is told.
DELETE FROM sendonce.streams WHERE campaign_id = %(campaign)s;

-- name: release
-- The object is gone: whoever brings the send key next need not wait for it.
UPDATE sendonce.campaigns SET owner_uid = NULL, owner_seen_at = NULL
 WHERE id = %(campaign)s AND owner_uid = %(owner_uid)s;

-- name: seen
-- Who has a campaign's row in the middle of something long keeps nobody else's from being noted; it is noted the next time.
WITH mine AS (
  SELECT c.id FROM sendonce.campaigns c
    JOIN unnest(%(ids)s::bigint[], %(owners)s::text[]) AS m(id, owner) ON c.id = m.id AND c.owner_uid = m.owner
     FOR NO KEY UPDATE OF c SKIP LOCKED
)
UPDATE sendonce.campaigns c SET owner_seen_at = now() FROM mine WHERE c.id = mine.id;

-- name: active
-- Through the index of active campaigns: finished records are not read.
SELECT id, owner_uid FROM sendonce.campaigns WHERE ended IS NULL;

-- name: top_errors
-- From the batches that have any. The far end's words are one example of each kind.
SELECT d.code, d.reason, count(*) AS count, max(d.error) AS message
  FROM sendonce.batches b JOIN sendonce.deliveries d ON d.batch_id = b.id
 WHERE b.campaign_id = %(campaign)s AND b.kind = 'send' AND b.failed + b.uncertain > 0
   AND d.state IN ('failed', 'uncertain')
 GROUP BY d.code, d.reason ORDER BY count(*) DESC, d.code, d.reason LIMIT %(limit)s;

-- name: providers
SELECT namespace, kind, name, suspended, paused_until, pause_code, pause_message, pauses_in_row, now() AS now
  FROM sendonce.providers;

-- name: suspend_provider
UPDATE sendonce.providers SET suspended = true
 WHERE kind = %(kind)s AND namespace = %(namespace)s AND name = %(name)s;

-- name: namespaces
-- Where there is, or was, a campaign.
SELECT DISTINCT namespace FROM sendonce.campaigns WHERE ended IS NOT NULL;

-- name: action
SELECT a.type, a.matched, a.changed, a.message, a.started_at, a.finished_at
  FROM sendonce.actions a WHERE a.campaign_id = %(campaign)s AND a.name = %(name)s;
