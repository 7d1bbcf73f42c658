-- A turn of a worker on its batch, as one function: one statement, one round trip, one transaction. Its plans are kept
-- by the session. What is rare (rows that end without a hand-off, notes of attempts, fallbacks) follows in statements of
-- its own, in the same transaction.
CREATE FUNCTION sendonce.take_turn(
  batch bigint, token uuid, lease double precision, writer text, flowing boolean,
  -- results: one element each
  nos integer[], seqs integer[], states text[], reasons text[], codes text[], errors text[], message_ids text[],
  delays double precision[], unknowns boolean[], used integer[],
  -- the next group, and on what terms an attempt may be repeated
  group_nos integer[], digests bytea[], key_window double precision, patience double precision, resend boolean,
  -- results whose row or attempt was another one by then
  OUT unwritten integer[],
  -- the group as it is now: first attempts that may go out, all at the time `began`; and the rest, row by row
  OUT first_nos integer[], OUT began timestamptz, OUT others jsonb,
  -- why the batch should be let go
  OUT stopped boolean, OUT paused boolean, OUT recovering boolean)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM sendonce.hold_lease(batch, token);
  began := date_trunc('second', now());
  IF lease IS NOT NULL THEN
    UPDATE sendonce.batches b SET claimable_at = now() + make_interval(secs => lease), heartbeat_at = now()
     WHERE b.id = batch;
  END IF;

  IF cardinality(nos) > 0 THEN
    -- Only the attempt that was committed as `sending` can be ended, once. Evidence that came in late outranks the answer.
    WITH written AS (
      UPDATE sendonce.deliveries d
         SET state = CASE WHEN d.evidence THEN 'sent' ELSE r.state END,
             reason = CASE WHEN d.evidence THEN NULL ELSE r.reason END,
             code = r.code, error = r.error, message_id = coalesce(r.message_id, d.message_id),
             maybe_accepted = d.maybe_accepted OR r.unknown, tries = d.tries + r.used,
             next_attempt_at = CASE WHEN r.state = 'pending' AND NOT d.evidence THEN now() + make_interval(secs => r.delay) END,
             finished_at = CASE WHEN r.state <> 'pending' OR d.evidence THEN now() END
        FROM unnest(nos, seqs, states, reasons, codes, errors, message_ids, delays, unknowns, used)
             AS r(no, seq, state, reason, code, error, message_id, delay, unknown, used)
       WHERE d.batch_id = batch AND d.no = r.no AND d.state = 'sending' AND d.attempt_seq = r.seq
      RETURNING d.no
    )
    SELECT array_agg(n) INTO unwritten FROM unnest(nos) n WHERE n NOT IN (SELECT w.no FROM written w);
    -- an attempt ended: this batch does not kill its workers
    UPDATE sendonce.batches b SET crashes = 0 WHERE b.id = batch AND b.crashes > 0;
    IF flowing THEN
      -- something got through: the provider's next pause starts small again
      UPDATE sendonce.providers p SET pauses_in_row = 0
        FROM sendonce.batches b
       WHERE b.id = batch AND p.id = b.provider_id
         AND p.pauses_in_row > 0 AND (p.paused_until IS NULL OR p.paused_until <= now());
    END IF;
  END IF;

  IF cardinality(group_nos) > 0 THEN
    -- The checks of the hand-off and the commit that comes before it, in one statement: only rows that come back as
    -- `sending` may be handed off. MATERIALIZED: else the planner copies the look-ups of consent into every column.
    WITH asked AS MATERIALIZED (
      SELECT d.no, a.digest,
             CASE
               WHEN c.deadline <= now() THEN 'expired'
               WHEN EXISTS (SELECT FROM sendonce.suppressions s
                             WHERE s.namespace = d.namespace AND s.channel = d.channel AND s.address = d.address)
                 THEN 'suppression_list'
               WHEN EXISTS (SELECT FROM sendonce.opt_outs o
                             WHERE o.namespace = d.namespace AND o.channel = d.channel AND o.address = d.address
                               AND o.category = c.category AND o.topic IN ('', coalesce(c.topic, '')))
                 THEN 'opted_out'
               WHEN d.maybe_accepted AND d.digest IS NOT NULL AND d.digest <> a.digest THEN 'content_changed'
               WHEN d.resend_ordered OR resend OR NOT d.maybe_accepted THEN NULL
               WHEN key_window IS NULL THEN 'repeat_not_safe'
               WHEN now() + make_interval(secs => patience) > d.key_first_used_at + make_interval(secs => key_window)
                 THEN 'key_window_passed'
             END AS obstacle
        FROM unnest(group_nos, digests) AS a(no, digest)
        JOIN sendonce.deliveries d ON d.batch_id = batch AND d.no = a.no
        JOIN sendonce.campaigns c ON c.id = d.campaign_id
        JOIN sendonce.batches b ON b.id = d.batch_id
        JOIN sendonce.providers p ON p.id = b.provider_id
       WHERE d.state = 'pending'
         AND NOT c.suspended AND c.halt_reason IS NULL AND c.cancelled_at IS NULL
         AND NOT p.suspended AND (p.paused_until IS NULL OR p.paused_until <= now())
    ), begun AS (
      UPDATE sendonce.deliveries d
         SET state = CASE WHEN a.obstacle IS NULL THEN 'sending'
                          WHEN d.maybe_accepted THEN 'uncertain'
                          WHEN a.obstacle = 'expired' THEN 'expired'
                          ELSE 'suppressed' END,
             reason = CASE WHEN a.obstacle = 'expired' THEN 'deadline' ELSE a.obstacle END,
             attempt_seq = d.attempt_seq + CASE WHEN a.obstacle IS NULL THEN 1 ELSE 0 END,
             digest = CASE WHEN a.obstacle IS NULL THEN a.digest ELSE d.digest END,
             worker = CASE WHEN a.obstacle IS NULL THEN writer ELSE d.worker END,
             last_attempt_at = CASE WHEN a.obstacle IS NULL THEN now() ELSE d.last_attempt_at END,
             first_attempt_at = CASE WHEN a.obstacle IS NULL THEN coalesce(d.first_attempt_at, began)
                                     ELSE d.first_attempt_at END,
             -- with nothing outstanding, a key that the far end has forgotten is a new one
             key_first_used_at = CASE
               WHEN a.obstacle IS NOT NULL OR key_window IS NULL THEN d.key_first_used_at
               WHEN d.key_first_used_at IS NULL THEN now()
               WHEN (d.resend_ordered OR NOT d.maybe_accepted) AND d.key_first_used_at < now() - make_interval(secs => key_window) THEN now()
               ELSE d.key_first_used_at END,
             resend_ordered = false, next_attempt_at = NULL,
             finished_at = CASE WHEN a.obstacle IS NOT NULL THEN now() END
        FROM asked a
       WHERE d.batch_id = batch AND d.no = a.no AND d.state = 'pending'
      RETURNING d.no, d.state, d.reason, d.attempt_seq, d.first_attempt_at, d.maybe_accepted,
                d.state = 'sending' AND d.attempt_seq = 1 AS is_first
    )
    SELECT array_agg(g.no) FILTER (WHERE g.is_first),
           jsonb_agg(jsonb_build_array(g.no, g.state, g.reason, g.attempt_seq, g.first_attempt_at, g.maybe_accepted))
             FILTER (WHERE NOT g.is_first)
      INTO first_nos, others FROM begun g;
  END IF;

  SELECT c.suspended OR c.halt_reason IS NOT NULL OR c.cancelled_at IS NOT NULL OR c.ended IS NOT NULL,
         p.suspended OR coalesce(p.paused_until > now(), false), p.pauses_in_row > 0
    INTO stopped, paused, recovering
    FROM sendonce.batches b
    JOIN sendonce.campaigns c ON c.id = b.campaign_id
    JOIN sendonce.providers p ON p.id = b.provider_id
   WHERE b.id = batch;
END $$;
