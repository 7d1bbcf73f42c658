-- What is left of a finished campaign when its recipients' data goes: the row with its send key, hash and counts.

-- name: find
SELECT ended, data_deleted_at, send_key FROM sendonce.campaigns WHERE id = %(campaign)s;

-- name: due
-- Finished for longer than the campaign keeps its data; also those whose deletion was begun and broke off.
SELECT c.id FROM sendonce.campaigns c
 WHERE c.namespace = %(namespace)s AND c.ended IS NOT NULL
   AND c.completed_at < now() - make_interval(days => coalesce((c.spec ->> 'dataRetentionDays')::int, 90))
   AND (c.data_deleted_at IS NULL
        OR EXISTS (SELECT FROM sendonce.batches b WHERE b.campaign_id = c.id)
        OR EXISTS (SELECT FROM sendonce.recipients r WHERE r.campaign_id = c.id)
        OR EXISTS (SELECT FROM sendonce.import_rejects r WHERE r.campaign_id = c.id)
        OR EXISTS (SELECT FROM sendonce.import_spool s WHERE s.campaign_id = c.id)
        OR EXISTS (SELECT FROM sendonce.attempts a WHERE a.campaign_id = c.id))
 ORDER BY c.completed_at LIMIT 100;

-- name: mark
-- First of all, under the campaign's lock: from now on a Retry can't reopen it (a CHECK refuses that), so that nothing is
-- taken away from under a worker. People who stand in the spec itself go with it: a source that is none takes their place.
UPDATE sendonce.campaigns c
   SET data_deleted_at = now(),
       spec = CASE WHEN c.spec -> 'recipients' ? 'inline' THEN jsonb_set(c.spec, '{recipients}',
                (c.spec #> '{recipients}') #- '{inline}'
                || '{"secretKeyRef": {"name": "deleted", "key": "deleted"}, "format": "NDJSON"}') ELSE c.spec END,
       final_counts = (
         SELECT jsonb_build_object(
                  'pending', coalesce(sum(b.pending), 0), 'sending', coalesce(sum(b.sending), 0),
                  'sent', coalesce(sum(b.sent), 0), 'failed', coalesce(sum(b.failed), 0),
                  'uncertain', coalesce(sum(b.uncertain), 0), 'suppressed', coalesce(sum(b.suppressed), 0),
                  'expired', coalesce(sum(b.expired), 0), 'cancelled', coalesce(sum(b.cancelled), 0),
                  'delivered', coalesce(sum(b.delivered), 0), 'bounced', coalesce(sum(b.bounced), 0))
           FROM sendonce.batches b WHERE b.campaign_id = c.id AND b.kind = 'send')
 WHERE c.id = %(campaign)s AND c.ended IS NOT NULL AND c.data_deleted_at IS NULL
RETURNING c.id;

-- name: forget_names
-- Who was retried or suppressed by an order; that it was ordered, by whom and when, stays.
UPDATE sendonce.actions SET spec = spec - 'recipients'
 WHERE campaign_id = %(campaign)s AND spec -> 'recipients' <> 'null'::jsonb;

-- name: batches
SELECT id FROM sendonce.batches WHERE campaign_id = %(campaign)s ORDER BY id;

-- name: lock_batch
-- An answer that comes in late takes the same lock.
SELECT id FROM sendonce.batches WHERE id = %(batch)s FOR UPDATE;

-- name: delete_batch_attempts
DELETE FROM sendonce.attempts WHERE batch_id = %(batch)s;

-- name: delete_batch_deliveries
DELETE FROM sendonce.deliveries WHERE batch_id = %(batch)s;

-- name: delete_batch
DELETE FROM sendonce.batches WHERE id = %(batch)s;

-- name: delete_recipients
-- From a place on, so that a step does not read again what the steps before it deleted.
WITH step AS (
  SELECT max(s.no) AS upto, count(*) AS rows
    FROM (SELECT no FROM sendonce.recipients WHERE campaign_id = %(campaign)s AND no > %(after)s
           ORDER BY no LIMIT %(step)s) s
), gone AS (
  DELETE FROM sendonce.recipients r USING step
   WHERE r.campaign_id = %(campaign)s AND r.no > %(after)s AND r.no <= step.upto
)
SELECT upto, rows FROM step;

-- name: delete_rejects
WITH step AS (
  SELECT max(s.line) AS upto, count(*) AS rows
    FROM (SELECT line FROM sendonce.import_rejects WHERE campaign_id = %(campaign)s AND line > %(after)s
           ORDER BY line LIMIT %(step)s) s
), gone AS (
  DELETE FROM sendonce.import_rejects r USING step
   WHERE r.campaign_id = %(campaign)s AND r.line > %(after)s AND r.line <= step.upto
)
SELECT upto, rows FROM step;

-- name: delete_spool
WITH step AS (
  SELECT max(s.line) AS upto, count(*) AS rows
    FROM (SELECT line FROM sendonce.import_spool WHERE campaign_id = %(campaign)s AND line > %(after)s
           ORDER BY line LIMIT %(step)s) s
), gone AS (
  DELETE FROM sendonce.import_spool r USING step
   WHERE r.campaign_id = %(campaign)s AND r.line > %(after)s AND r.line <= step.upto
)
SELECT upto, rows FROM step;

-- name: delete_inbox
WITH step AS (
  SELECT max(s.key) AS upto FROM (SELECT key FROM sendonce.inbox WHERE campaign_id = %(campaign)s AND key > %(after)s
                                   ORDER BY key LIMIT %(step)s) s
), gone AS (
  DELETE FROM sendonce.inbox i USING step
   WHERE i.campaign_id = %(campaign)s AND i.key > %(after)s AND i.key <= step.upto
)
SELECT upto FROM step;

-- name: forget_contacts
-- No cap looks back further than a year.
DELETE FROM sendonce.contacts k
 WHERE k.ctid = ANY (ARRAY(SELECT o.ctid FROM sendonce.contacts o
                            WHERE o.namespace = %(namespace)s
                              AND coalesce(o.hits[cardinality(o.hits)], '-infinity') < now() - interval '366 days'
                            LIMIT %(step)s FOR UPDATE SKIP LOCKED));

-- name: delete_attempts
-- What is left of attempts once their batches are gone.
WITH step AS (
  SELECT max(s.id) AS upto, count(*) AS rows
    FROM (SELECT id FROM sendonce.attempts WHERE campaign_id = %(campaign)s AND id > %(after)s
           ORDER BY id LIMIT %(step)s) s
), gone AS (
  DELETE FROM sendonce.attempts r USING step
   WHERE r.campaign_id = %(campaign)s AND r.id > %(after)s AND r.id <= step.upto
)
SELECT upto, rows FROM step;
