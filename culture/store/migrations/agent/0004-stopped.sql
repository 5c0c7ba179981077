CREATE TABLE queue_4 (         -- what was said to the agent and is worth a turn
  number INTEGER PRIMARY KEY,
  msgid TEXT NOT NULL UNIQUE,  -- what makes taking it twice impossible
  state TEXT NOT NULL CHECK (state IN ('queued', 'injected', 'answered', 'silent', 'stopped', 'expired')),
  concern TEXT NOT NULL,       -- why it is worth a turn
  sender TEXT NOT NULL,
  channel TEXT,                -- none in a direct message
  conversation TEXT NOT NULL,  -- the channel or the sender, folded
  text TEXT NOT NULL,
  said_ms INTEGER NOT NULL,
  changed_ms INTEGER NOT NULL, -- when it got its state
  turn TEXT NOT NULL,          -- the last one that was given it
  tries INTEGER NOT NULL,      -- how many were
  crashes INTEGER NOT NULL,    -- how many of them did not survive it
  note TEXT NOT NULL,          -- why it was given up, or who stopped it
  by_agent INTEGER NOT NULL    -- whether the sender is an agent itself
) STRICT;
INSERT INTO queue_4 SELECT * FROM queue;
DROP TABLE queue;
ALTER TABLE queue_4 RENAME TO queue;
CREATE INDEX queue_by_state ON queue (state, number);
