CREATE TABLE question (        -- what the agent asked, and the answer that counts
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,     -- what people type
  kind TEXT NOT NULL CHECK (kind IN ('ask', 'permission', 'budget')),
  state TEXT NOT NULL CHECK (state IN ('asked', 'posted', 'answered', 'delivered', 'withdrawn')),
  text TEXT NOT NULL,
  parameters TEXT NOT NULL,    -- JSON: exactly what is decided about
  task TEXT NOT NULL,          -- the name of the task, for people
  subject TEXT NOT NULL,       -- the msgid of the message that the turn answers
  context TEXT NOT NULL,       -- that message, for the prompt that delivers a late answer
  turn TEXT NOT NULL,
  call TEXT NOT NULL,          -- the id of the tool call that the backend keeps until the answer
  place TEXT NOT NULL,         -- the channel or nick that was asked
  named TEXT NOT NULL,         -- JSON: the members who alone may answer; none: all
  options TEXT NOT NULL,       -- JSON: the choices; none: any text is an answer
  msgids TEXT NOT NULL,        -- JSON: the messages of the question
  asked_ms INTEGER NOT NULL,
  is_waiting INTEGER NOT NULL, -- whether a call of the turn waits for the answer
  timed_out_ms INTEGER,
  choice TEXT NOT NULL,
  answer TEXT NOT NULL,
  answered_by TEXT NOT NULL,
  authority TEXT NOT NULL,     -- person, vote, first, consensus, anyone
  answer_msgid TEXT NOT NULL,
  answered_ms INTEGER,
  delivered_ms INTEGER,
  used_ms INTEGER              -- when the permission was used
) STRICT;
CREATE INDEX question_by_state ON question (state, number);

CREATE TABLE vote (            -- the last answer of each who answered a question that has choices
  question TEXT NOT NULL,
  voter TEXT NOT NULL,         -- the account
  nick TEXT NOT NULL,
  authority TEXT NOT NULL CHECK (authority IN ('person', 'agent', 'anyone')),
  choice TEXT NOT NULL,
  text TEXT NOT NULL,
  msgid TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (question, voter)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (           -- append-only; each row has the hash of the row before
  number INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  event TEXT NOT NULL,
  question TEXT NOT NULL,
  details TEXT NOT NULL,       -- JSON
  previous TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit table is append-only'); END;
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit table is append-only'); END;
