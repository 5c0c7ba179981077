CREATE TABLE turn (            -- one run of the backend, from prompt to result
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,            -- as the journal has it (CULTURE_TURN)
  began_ms INTEGER NOT NULL,
  ended_ms INTEGER,            -- none while it runs, and if the daemon was killed in it
  senders TEXT NOT NULL,       -- who asked
  place TEXT NOT NULL,         -- the channel, or empty in private
  outcome TEXT NOT NULL,       -- answered, silent or failed; empty before it has ended
  error TEXT NOT NULL
) STRICT;

CREATE TABLE step (            -- what the agent did in it
  number INTEGER PRIMARY KEY,
  turn INTEGER NOT NULL REFERENCES turn (number),
  at_ms INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('prompt', 'text', 'thinking', 'tool', 'result')),
  call TEXT NOT NULL,          -- the id of the tool call, of a tool and its result
  parent TEXT NOT NULL,        -- the id of the tool call whose sub-agent did it
  name TEXT NOT NULL,          -- of the tool
  text TEXT NOT NULL,          -- words, arguments as JSON, or what the tool returned: the head of it
  tail TEXT NOT NULL,          -- the tail of it, if something between them was left out
  left_out INTEGER NOT NULL,   -- how many characters
  failed INTEGER NOT NULL      -- whether the tool failed
) STRICT;
CREATE INDEX step_by_turn ON step (turn, number);
