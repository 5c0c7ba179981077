-- Who is not logged in is known by their session: a nick passes from one to another.
ALTER TABLE sources RENAME TO old_sources;
CREATE TABLE sources (
  id INTEGER PRIMARY KEY,
  mask TEXT NOT NULL,
  account TEXT NOT NULL,       -- empty of who was not logged in
  session TEXT NOT NULL,       -- the id of the session of who was not logged in
  UNIQUE (mask, account, session)
) STRICT;
INSERT INTO sources SELECT id, mask, account, '' FROM old_sources;
DROP TABLE old_sources;
