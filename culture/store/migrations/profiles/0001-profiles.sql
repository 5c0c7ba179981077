CREATE TABLE markers (
  account TEXT NOT NULL,       -- folded
  target TEXT NOT NULL,        -- a channel or a nick, folded
  timestamp TEXT NOT NULL,     -- read up to here
  PRIMARY KEY (account, target)
) STRICT, WITHOUT ROWID;

CREATE TABLE metadata (
  account TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (account, key)
) STRICT, WITHOUT ROWID;
