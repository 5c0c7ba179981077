-- It was private, and was shared before another host renamed the channel: who is a member now reads it no more.
ALTER TABLE shared ADD COLUMN is_past INTEGER NOT NULL DEFAULT 0;
