-- Limits of people over campaigns: at most so many messages of a category and topic in so many days.
ALTER TABLE sendonce.campaigns ADD COLUMN cap_messages integer CHECK (cap_messages > 0);
ALTER TABLE sendonce.campaigns ADD COLUMN cap_days integer CHECK (cap_days > 0);
ALTER TABLE sendonce.campaigns ADD CONSTRAINT a_cap_has_a_period CHECK ((cap_messages IS NULL) = (cap_days IS NULL));

-- A person's own quiet hours, such as 21:00-09:00, in the person's zone.
ALTER TABLE sendonce.recipients ADD COLUMN quiet text;
-- The channels that a person wants to be written to over, the dearest first, with commas; null: as the campaign says.
ALTER TABLE sendonce.recipients ADD COLUMN prefers text;

-- Where a campaign's deliveries may go on from a channel: the other channels of the same family, which is a channel
-- without `after` and those that name it. `usual`: for people without an order of their own.
CREATE FUNCTION sendonce.ways_on(campaign bigint, from_channel text)
RETURNS TABLE (channel text, provider_id bigint, after_states text[], usual boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT f.channel, f.provider_id, CASE WHEN f.after_channel IS NULL THEN x.after_states ELSE f.after_states END,
         f.after_channel IS NOT DISTINCT FROM x.channel
    FROM sendonce.channels x
    JOIN sendonce.channels f ON f.campaign_id = x.campaign_id AND f.channel <> x.channel
                            AND coalesce(f.after_channel, f.channel) = coalesce(x.after_channel, x.channel)
   WHERE x.campaign_id = ways_on.campaign AND x.channel = ways_on.from_channel
$$;

-- The channel that a person with an order of his own has behind this one, among those that the campaign has for it and
-- for which there is an address.
CREATE FUNCTION sendonce.next_preferred(campaign bigint, prefers text, addresses jsonb, behind text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT w.channel
    FROM sendonce.ways_on(campaign, behind) w
   WHERE addresses ? w.channel
     AND array_position(string_to_array(prefers, ','), w.channel) > array_position(string_to_array(prefers, ','), behind)
   ORDER BY array_position(string_to_array(prefers, ','), w.channel) LIMIT 1
$$;

-- When an address was written to by campaigns with a cap, the newest last: a row is the lock, too, under which it is
-- decided whether one more may go. `topic` is '' for campaigns without one. A first attempt is noted as the delivery
-- has it in first_attempt_at.
CREATE TABLE sendonce.contacts (
  namespace text NOT NULL,
  channel   text COLLATE "C" NOT NULL,
  address   text COLLATE "C" NOT NULL,
  category  text NOT NULL,
  topic     text NOT NULL,
  hits      timestamptz[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (namespace, channel, address, category, topic)
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE sendonce.contacts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON sendonce.contacts USING (namespace = (SELECT sendonce.own_namespace()));

-- Before a turn: lock what is known of the people whom the turn is about, in the order of their addresses (two batches
-- may have the same people), and end the deliveries that would be one too many. Of `ending`, attempts that the far end
-- refused, the locks are all that is needed. Behind `hold_lease`.
CREATE FUNCTION sendonce.hold_caps(batch bigint, token uuid, group_nos integer[], ending integer[])
RETURNS TABLE (no integer, state text, reason text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  PERFORM sendonce.hold_lease(batch, token);
  INSERT INTO sendonce.contacts (namespace, channel, address, category, topic)
  SELECT DISTINCT d.namespace, d.channel, d.address, c.category, coalesce(c.topic, '')
    FROM sendonce.deliveries d JOIN sendonce.campaigns c ON c.id = d.campaign_id
   WHERE d.batch_id = hold_caps.batch AND d.no = ANY (group_nos) AND d.attempt_seq = 0 AND c.cap_messages IS NOT NULL
   ORDER BY d.address
  ON CONFLICT DO NOTHING;
  PERFORM FROM sendonce.contacts k
    WHERE (k.namespace, k.channel, k.address, k.category, k.topic) IN (
            SELECT d.namespace, d.channel, d.address, c.category, coalesce(c.topic, '')
              FROM sendonce.deliveries d JOIN sendonce.campaigns c ON c.id = d.campaign_id
             WHERE d.batch_id = hold_caps.batch AND d.no = ANY (group_nos || ending))
    ORDER BY k.address FOR UPDATE;
  RETURN QUERY
  WITH asked AS (
    SELECT d.no, c.cap_messages - (
             SELECT count(*) FROM sendonce.contacts k, unnest(k.hits) AS h(at)
              WHERE k.namespace = d.namespace AND k.channel = d.channel AND k.address = d.address
                AND k.category = c.category AND k.topic = coalesce(c.topic, '')
                AND h.at > now() - make_interval(days => c.cap_days)) AS room,
           -- a stream may have several messages for one address in one group
           row_number() OVER (PARTITION BY d.address ORDER BY d.no) AS place
      FROM sendonce.deliveries d
      JOIN sendonce.campaigns c ON c.id = d.campaign_id
      JOIN sendonce.batches b ON b.id = d.batch_id
      JOIN sendonce.providers p ON p.id = b.provider_id
     WHERE d.batch_id = hold_caps.batch AND d.no = ANY (group_nos) AND d.state = 'pending' AND d.attempt_seq = 0
       AND c.cap_messages IS NOT NULL AND (c.deadline IS NULL OR c.deadline > now())
       -- what stands still is decided when it goes on
       AND NOT c.suspended AND c.halt_reason IS NULL AND c.cancelled_at IS NULL
       AND NOT p.suspended AND (p.paused_until IS NULL OR p.paused_until <= now())
  )
  UPDATE sendonce.deliveries d
     SET state = 'suppressed', reason = 'frequency_cap', next_attempt_at = NULL, finished_at = now()
    FROM asked a
   WHERE d.batch_id = hold_caps.batch AND d.no = a.no AND a.place > a.room AND d.state = 'pending'
  RETURNING d.no, d.state, d.reason;
END $$;

-- After a turn, under the same locks: first attempts that it began count from now on; what it ended as failed certainly
-- reached nobody, and counts no more.
CREATE FUNCTION sendonce.count_contacts(batch bigint, group_nos integer[], ending integer[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE sendonce.contacts k
     -- no cap is larger than 100
     SET hits = (k.hits || n.begun)[greatest(1, cardinality(k.hits) + cardinality(n.begun) - 99):]
    FROM (SELECT d.namespace, d.channel, d.address, c.category, coalesce(c.topic, '') AS topic,
                 array_agg(d.first_attempt_at) AS begun
            FROM sendonce.deliveries d JOIN sendonce.campaigns c ON c.id = d.campaign_id
           WHERE d.batch_id = count_contacts.batch AND d.no = ANY (group_nos) AND d.state = 'sending'
             AND d.attempt_seq = 1 AND d.last_attempt_at = now() AND c.cap_messages IS NOT NULL
           GROUP BY 1, 2, 3, 4, 5) n
   WHERE (k.namespace, k.channel, k.address, k.category, k.topic) = (n.namespace, n.channel, n.address, n.category, n.topic);
  UPDATE sendonce.contacts k
     SET hits = ARRAY(
           SELECT h.at
             FROM (SELECT t.at, t.place, row_number() OVER (PARTITION BY t.at ORDER BY t.place) AS nth
                     FROM unnest(k.hits) WITH ORDINALITY AS t(at, place)) h
            -- a stream may have several messages for one address in one turn
            WHERE h.nth > (SELECT count(*) FROM unnest(n.freed) f WHERE f = h.at)
            ORDER BY h.place)
    FROM (SELECT d.namespace, d.channel, d.address, c.category, coalesce(c.topic, '') AS topic,
                 array_agg(d.first_attempt_at) AS freed
            FROM sendonce.deliveries d JOIN sendonce.campaigns c ON c.id = d.campaign_id
           WHERE d.batch_id = count_contacts.batch AND d.no = ANY (ending) AND d.state = 'failed'
             AND d.finished_at = now() AND NOT d.maybe_accepted
           GROUP BY 1, 2, 3, 4, 5) n
   WHERE (k.namespace, k.channel, k.address, k.category, k.topic) = (n.namespace, n.channel, n.address, n.category, n.topic)
     AND n.freed && k.hits;
END $$;
