CREATE TABLE IF NOT EXISTS renamed (  -- places that got another name, or another channel, by what another host said
  place INTEGER PRIMARY KEY REFERENCES places (id) ON DELETE CASCADE,
  number INTEGER NOT NULL      -- the last event before it: who is a member now may have been none then
) STRICT;
