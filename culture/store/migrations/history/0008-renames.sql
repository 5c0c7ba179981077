-- Under which names a channel was known when something was said in it.
CREATE INDEX IF NOT EXISTS renames ON events (place) WHERE command = 'RENAME';
