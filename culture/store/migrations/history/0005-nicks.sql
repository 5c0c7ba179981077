CREATE TABLE nicks (           -- what the ends of a conversation were called in it, a few of the last
  place INTEGER NOT NULL REFERENCES places (id) ON DELETE CASCADE,
  end TEXT NOT NULL,
  nick TEXT NOT NULL,          -- folded
  since_ms INTEGER NOT NULL,   -- when they were called so again
  PRIMARY KEY (place, end, nick)
) STRICT, WITHOUT ROWID;
-- The same folding as of all names.
INSERT OR IGNORE INTO nicks
SELECT place, end, replace(replace(replace(replace(lower(nick), '[', '{'), ']', '}'), '\', '|'), '~', '^'), 0
FROM ends;
