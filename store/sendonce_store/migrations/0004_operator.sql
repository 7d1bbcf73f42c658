-- The operator's side of a campaign: whether the object that owns the send key is still looked after, and a cheap way to
-- find what is active among records that stay for ever.
ALTER TABLE sendonce.campaigns ADD COLUMN owner_seen_at timestamptz; -- an operator looked after the owner at this time
CREATE INDEX campaigns_active ON sendonce.campaigns (id) WHERE ended IS NULL;
