-- A number is a generation (the upper half) and a counter. What was numbered before is of generation 0.
ALTER TABLE events ADD COLUMN to_host TEXT;                          -- of a direct message, where it goes
ALTER TABLE events ADD COLUMN is_local INTEGER NOT NULL DEFAULT 0;   -- it never leaves this host
CREATE UNIQUE INDEX events_by_number ON events (origin, seq, place);
CREATE INDEX events_to_hosts ON events (origin, to_host, seq) WHERE to_host IS NOT NULL;

-- The same order on every host: by time, then by number, then by msgid.
DROP INDEX events_in_order;
CREATE INDEX events_in_order ON events (place, at_ms, seq);

CREATE TABLE holdings (        -- up to which number everything is here that may be
  origin INTEGER NOT NULL REFERENCES origins (id),
  scope TEXT NOT NULL,         -- '*', or one channel, or '>host' for direct messages to it
  generation INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (origin, scope, generation)
) STRICT, WITHOUT ROWID;
INSERT INTO holdings SELECT id, '*', seq >> 32, seq FROM origins;
ALTER TABLE origins DROP COLUMN seq;
