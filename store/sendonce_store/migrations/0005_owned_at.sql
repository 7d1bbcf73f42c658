-- Since when the owner acts for the campaign; null: since it was made. By the store's clock: an object's creation time has
-- whole seconds, and within one a campaign can end, be deleted and be applied again.
ALTER TABLE sendonce.campaigns ADD COLUMN owned_at timestamptz;
