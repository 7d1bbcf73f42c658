-- The harness's own witness in every run's database: each change of a delivery, with the moment at which it was written.
CREATE SCHEMA chaos;
CREATE TABLE chaos.moves (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at             timestamptz NOT NULL DEFAULT clock_timestamp(),
  began          timestamptz NOT NULL DEFAULT now(),       -- of the transaction
  writer         text NOT NULL DEFAULT current_setting('application_name'),
  channel        text NOT NULL,
  address        text NOT NULL,
  batch_id       bigint NOT NULL,
  before         text,                                     -- null: the row was inserted
  after          text NOT NULL,
  seq            integer NOT NULL,
  reason         text,
  maybe_accepted boolean NOT NULL,
  ordered        boolean NOT NULL                          -- this attempt is a repeat that a person ordered
);
CREATE FUNCTION chaos.note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO chaos.moves (channel, address, batch_id, after, seq, reason, maybe_accepted, ordered)
    VALUES (NEW.channel, NEW.address, NEW.batch_id, NEW.state, NEW.attempt_seq, NEW.reason, NEW.maybe_accepted, false);
  ELSIF NEW.state <> OLD.state OR NEW.attempt_seq <> OLD.attempt_seq OR NEW.evidence <> OLD.evidence THEN
    INSERT INTO chaos.moves (channel, address, batch_id, before, after, seq, reason, maybe_accepted, ordered)
    VALUES (NEW.channel, NEW.address, NEW.batch_id, OLD.state, NEW.state, NEW.attempt_seq, NEW.reason,
            NEW.maybe_accepted, OLD.resend_ordered);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER chaos_note AFTER INSERT OR UPDATE ON sendonce.deliveries FOR EACH ROW EXECUTE FUNCTION chaos.note();
