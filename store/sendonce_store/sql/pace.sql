-- One shared pace per provider, over all workers, campaigns and namespaces.

-- name: lease_slots
-- Reserve a block of slots in the near future; docs/pace.md derives the bound.
SELECT delays, valid_for, retry_in
  FROM sendonce.lease_slots(%(provider)s, %(priority)s::smallint, %(wanted)s::int, %(horizon)s::float8);

-- name: has_limits
SELECT EXISTS (SELECT FROM sendonce.pace_limits WHERE provider_id = %(provider)s) AS paced;

-- name: pause
-- Every worker of the provider stands still; null where it already does, for longer.
SELECT sendonce.pause_provider(%(provider)s, %(retry_after)s::float8, %(first)s::float8, %(longest)s::float8,
                               %(code)s::text, %(message)s::text) AS seconds;

-- name: pause_left
SELECT coalesce(extract(epoch FROM paused_until - now()), 0)::float8 AS seconds, pause_message,
       suspended
  FROM sendonce.providers WHERE id = %(provider)s;
