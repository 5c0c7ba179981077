CREATE TABLE queue (           -- what was said to the agent and is worth a turn
  number INTEGER PRIMARY KEY,
  msgid TEXT NOT NULL UNIQUE,  -- what makes taking it twice impossible
  state TEXT NOT NULL CHECK (state IN ('queued', 'injected', 'answered', 'expired')),
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
  note TEXT NOT NULL           -- why it was given up
) STRICT;
CREATE INDEX queue_by_state ON queue (state, number);

CREATE TABLE heard (           -- how far each conversation was heard
  conversation TEXT PRIMARY KEY,
  msgid TEXT NOT NULL,
  time TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE read (            -- how far the agent itself has read each of them
  conversation TEXT PRIMARY KEY,
  msgid TEXT NOT NULL,
  time TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE own (             -- what the agent said last, to know a reply to it
  number INTEGER PRIMARY KEY,
  msgid TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE spent (           -- by day of the host's own calendar
  day TEXT PRIMARY KEY,
  turns INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_usd REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE kept (            -- single values: the session, why the agent is paused
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
