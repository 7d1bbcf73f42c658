-- Tokens of applications that enqueue over HTTP. The table is in migration 0008.

-- name: add
INSERT INTO sendonce.gateway_tokens (namespace, name, digest) VALUES (%(namespace)s, %(name)s, %(digest)s)
ON CONFLICT (namespace, name) DO NOTHING;

-- name: list
SELECT namespace, name, created_at FROM sendonce.gateway_tokens ORDER BY namespace, name;

-- name: remove
DELETE FROM sendonce.gateway_tokens WHERE namespace = %(namespace)s AND name = %(name)s;
