CREATE TABLE places (          -- channels, and conversations of two
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,    -- the folded name; of a conversation, its two ends
  name TEXT NOT NULL           -- as it is spelled; of a conversation, empty
) STRICT;

CREATE TABLE ends (            -- who a conversation is between
  end TEXT NOT NULL,           -- account:ori, or nick:spark-ori of who was not logged in
  place INTEGER NOT NULL REFERENCES places (id) ON DELETE CASCADE,
  nick TEXT NOT NULL,          -- as they were called in it last
  PRIMARY KEY (end, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX ends_by_place ON ends (place);

CREATE TABLE seats (           -- who was in a channel, and since when for the first time
  place INTEGER NOT NULL REFERENCES places (id) ON DELETE CASCADE,
  end TEXT NOT NULL,
  joined_at_ms INTEGER NOT NULL,
  PRIMARY KEY (place, end)
) STRICT, WITHOUT ROWID;

CREATE TABLE sources (
  id INTEGER PRIMARY KEY,
  mask TEXT NOT NULL,
  account TEXT NOT NULL,       -- empty of who was not logged in
  UNIQUE (mask, account)
) STRICT;

CREATE TABLE origins (
  id INTEGER PRIMARY KEY,
  host TEXT NOT NULL UNIQUE,   -- empty: this one
  seq INTEGER NOT NULL         -- the highest number held
) STRICT;

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  place INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  msgid TEXT NOT NULL,
  origin INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  command TEXT NOT NULL,
  source INTEGER NOT NULL,
  is_public INTEGER NOT NULL,
  is_redacted INTEGER NOT NULL DEFAULT 0,
  target TEXT,                 -- in a conversation, the nick that was written to
  text TEXT NOT NULL,
  tags TEXT,                   -- JSON
  params TEXT                  -- JSON
) STRICT;
CREATE INDEX events_in_order ON events (place, at_ms);
CREATE INDEX events_by_msgid ON events (msgid);

CREATE TABLE marks (           -- how far the work behind the traffic has come
  name TEXT PRIMARY KEY,
  segment INTEGER NOT NULL,
  position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Of every message: its words, and in `about` one word each for its place and its sender.
CREATE VIRTUAL TABLE words USING fts5 (
  text, about, content = '', tokenize = 'unicode61 remove_diacritics 2'
);
