CREATE TABLE messages (
  number INTEGER PRIMARY KEY,
  channel TEXT NOT NULL,       -- folded
  sender TEXT NOT NULL,
  text TEXT NOT NULL,
  time_ms INTEGER NOT NULL,    -- since 1970, in UTC
  msgid TEXT NOT NULL          -- empty where the server has none
) STRICT;

CREATE INDEX messages_by_channel ON messages (channel, number);

CREATE TABLE channels (
  name TEXT NOT NULL,
  folded TEXT NOT NULL PRIMARY KEY
) STRICT;
