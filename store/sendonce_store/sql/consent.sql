-- Who must not be written to. Addresses are normalised, as in the deliveries; the hand-off looks here, not the import.

-- name: add_suppressions
-- The latest reason counts; one that is there already is left alone.
INSERT INTO sendonce.suppressions AS s (namespace, channel, address, reason, source)
SELECT DISTINCT ON (n.channel, n.address) %(namespace)s, n.channel, n.address, n.reason, %(source)s
  FROM unnest(%(channels)s::text[], %(addresses)s::text[], %(reasons)s::text[]) WITH ORDINALITY
       AS n(channel, address, reason, place)
 ORDER BY n.channel, n.address, n.place DESC
ON CONFLICT (namespace, channel, address) DO UPDATE
   SET reason = excluded.reason, source = excluded.source, created_at = now()
 WHERE s.reason <> excluded.reason;

-- name: remove_suppressions
DELETE FROM sendonce.suppressions s
 USING unnest(%(channels)s::text[], %(addresses)s::text[]) AS n(channel, address)
 WHERE s.namespace = %(namespace)s AND s.channel = n.channel AND s.address = n.address;

-- name: list_suppressions
SELECT channel, address, reason, source, created_at FROM sendonce.suppressions
 WHERE namespace = %(namespace)s AND (channel, address) > (%(after_channel)s, %(after_address)s)
   AND (%(channel)s::text IS NULL OR channel = %(channel)s)
   AND (%(address)s::text IS NULL OR address = %(address)s)
 ORDER BY channel, address LIMIT %(limit)s;

-- name: add_opt_outs
INSERT INTO sendonce.opt_outs (namespace, channel, address, category, topic, source)
SELECT DISTINCT %(namespace)s, n.channel, n.address, n.category, n.topic, %(source)s
  FROM unnest(%(channels)s::text[], %(addresses)s::text[], %(categories)s::text[], %(topics)s::text[])
       AS n(channel, address, category, topic)
ON CONFLICT DO NOTHING;

-- name: remove_opt_outs
DELETE FROM sendonce.opt_outs o
 USING unnest(%(channels)s::text[], %(addresses)s::text[], %(categories)s::text[], %(topics)s::text[])
       AS n(channel, address, category, topic)
 WHERE o.namespace = %(namespace)s AND o.channel = n.channel AND o.address = n.address
   AND o.category = n.category AND o.topic = n.topic;

-- name: list_opt_outs
SELECT channel, address, category, topic, source, created_at FROM sendonce.opt_outs
 WHERE namespace = %(namespace)s
   AND (channel, address, category, topic) > (%(after_channel)s, %(after_address)s, %(after_category)s, %(after_topic)s)
   AND (%(channel)s::text IS NULL OR channel = %(channel)s)
   AND (%(address)s::text IS NULL OR address = %(address)s)
   AND (%(category)s::text IS NULL OR category = %(category)s)
   AND (%(topic)s::text IS NULL OR topic = %(topic)s)
 ORDER BY channel, address, category, topic LIMIT %(limit)s;
