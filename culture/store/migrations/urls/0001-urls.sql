CREATE TABLE urls (
  url TEXT NOT NULL,
  channel TEXT NOT NULL,        -- folded
  is_public INTEGER NOT NULL,   -- whether the channel was, when the link was shared
  name TEXT NOT NULL,           -- the channel as it is spelled
  nick TEXT NOT NULL,           -- who shared it first
  first_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  times INTEGER NOT NULL,
  PRIMARY KEY (channel, url, is_public)
) STRICT, WITHOUT ROWID;
CREATE INDEX urls_by_time ON urls (last_ms);
