-- One shared pace per provider, over all workers, campaigns and namespaces.

-- name: ensure_share
INSERT INTO sendonce.pace_shares (provider_id, priority, namespace)
SELECT p.id, %(priority)s, p.namespace FROM sendonce.providers p WHERE p.id = %(provider)s
ON CONFLICT DO NOTHING;

-- name: lease_slots
-- Reserve a block of slots in the near future; docs/pace.md derives the bound.
SELECT delays, valid_for, retry_in
  FROM sendonce.lease_slots(%(provider)s, %(priority)s::smallint, %(wanted)s::int, %(horizon)s::float8);

-- name: has_limits
SELECT EXISTS (SELECT FROM sendonce.pace_limits WHERE provider_id = %(provider)s) AS paced;

-- name: pause
-- Every worker of the provider stands still for as long as the far end asked; if it did not say, for a while that grows
-- while nothing gets through. A pause is never shortened, and answers that were under way when it began do not count again.
UPDATE sendonce.providers
   SET paused_until = greatest(paused_until, now() + make_interval(secs => coalesce(
         %(retry_after)s::float8, least(%(longest)s, %(first)s * power(2, least(pauses_in_row, 20)))))),
       pauses_in_row = pauses_in_row + CASE WHEN paused_until > now() THEN 0 ELSE 1 END,
       pause_code = %(code)s, pause_message = %(message)s, updated_at = now()
 WHERE id = %(provider)s
   AND (paused_until IS NULL OR paused_until <= now()
        OR now() + make_interval(secs => coalesce(%(retry_after)s::float8, 0)) > paused_until)
RETURNING extract(epoch FROM paused_until - now())::float8 AS seconds;

-- name: pause_left
SELECT coalesce(extract(epoch FROM paused_until - now()), 0)::float8 AS seconds, pause_message,
       suspended
  FROM sendonce.providers WHERE id = %(provider)s;
