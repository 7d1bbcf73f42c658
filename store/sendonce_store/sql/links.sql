-- What the links in messages are made with. The tables are in migration 0008.

-- name: campaign_links
SELECT * FROM sendonce.campaign_links(%(campaign)s, %(url)s::text);

-- name: rotate_key
-- The next campaign that begins makes the next key.
UPDATE sendonce.link_keys SET retired_at = now() WHERE namespace = %(namespace)s AND retired_at IS NULL;

-- name: revoke_keys
UPDATE sendonce.link_keys SET retired_at = coalesce(retired_at, now()), revoked_at = now()
 WHERE namespace = %(namespace)s AND revoked_at IS NULL;
