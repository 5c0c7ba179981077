CREATE TABLE shared (           -- each time that somebody shared a link, so that it can be taken back
  channel TEXT NOT NULL,        -- folded, as it is called now
  url TEXT NOT NULL,
  msgid TEXT NOT NULL,          -- of the message that it was in
  is_public INTEGER NOT NULL,   -- whether the channel was
  name TEXT NOT NULL,           -- the channel as it is spelled
  nick TEXT NOT NULL,           -- who shared it
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (channel, url, msgid)
) STRICT, WITHOUT ROWID;
CREATE INDEX shared_by_msgid ON shared (msgid);

CREATE TABLE redactions (       -- another host may tell us later what was redacted
  channel TEXT NOT NULL,
  msgid TEXT NOT NULL,
  PRIMARY KEY (channel, msgid)
) STRICT, WITHOUT ROWID;

-- What was only counted has no messages: a msgid with a space is none.
INSERT INTO shared
WITH RECURSIVE counted AS (
  SELECT channel, url, is_public, name, nick, first_ms AS at_ms, last_ms, times FROM urls
  UNION ALL
  SELECT channel, url, is_public, name, nick, last_ms, last_ms, times - 1 FROM counted WHERE times > 1
)
SELECT channel, url, 'counted ' || is_public || ' ' || times, is_public, name, nick, at_ms FROM counted;
DROP TABLE urls;
