CREATE TABLE lines (           -- which line of which file a message is
  channel TEXT NOT NULL,       -- folded, as it is called now
  msgid TEXT NOT NULL,
  file TEXT NOT NULL,          -- below the directory of the logs
  digest BLOB NOT NULL,        -- of the line
  PRIMARY KEY (channel, msgid, file, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE redactions (      -- of what was logged, and of what another host will tell us later
  channel TEXT NOT NULL,
  msgid TEXT NOT NULL,
  text TEXT NOT NULL,          -- what the file says instead
  PRIMARY KEY (channel, msgid)
) STRICT, WITHOUT ROWID;
