CREATE TABLE entries (            -- one model session each: a turn, a supervisor's check, a question aside
  id TEXT PRIMARY KEY,            -- the caller chooses it, so that writing an entry twice changes nothing
  kind TEXT NOT NULL CHECK (kind IN ('turn', 'supervisor', 'aside')),
  state TEXT NOT NULL CHECK (state IN ('held', 'settled', 'void')),
  day TEXT NOT NULL,              -- the local date of the reservation
  host TEXT NOT NULL,
  agent TEXT NOT NULL,
  backend TEXT NOT NULL,
  model TEXT NOT NULL,
  task TEXT NOT NULL,
  turn TEXT NOT NULL,             -- the id of the turn in the journal
  owner TEXT NOT NULL,            -- the process that made the reservation
  turns INTEGER NOT NULL CHECK (turns >= 0),  -- 1, or more for the totals of a day from before there was a ledger
  held INTEGER NOT NULL CHECK (held >= 0),    -- the reservation in micro-dollars; 0 when it is settled
  cost INTEGER NOT NULL CHECK (cost >= 0),    -- in micro-dollars; while it is held, the cost so far
  is_assumed INTEGER NOT NULL,    -- whether the cost is the reservation because nobody knows the real one
  input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
  cached_tokens INTEGER NOT NULL CHECK (cached_tokens >= 0),
  output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
  began_ms INTEGER NOT NULL,
  ended_ms INTEGER                -- empty while it is held
) STRICT, WITHOUT ROWID;
CREATE INDEX entries_by_agent ON entries (agent, day);
CREATE INDEX entries_held ON entries (agent) WHERE state = 'held';

-- The sums of the entries, kept by the triggers below, so that a check of the budget reads a few rows only.
CREATE TABLE totals (
  day TEXT NOT NULL,
  host TEXT NOT NULL,
  agent TEXT NOT NULL,
  turns INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost INTEGER NOT NULL,          -- of settled entries
  held INTEGER NOT NULL,          -- of held entries: the reservation, or the cost so far if that is more
  PRIMARY KEY (day, host, agent)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER entry_added AFTER INSERT ON entries BEGIN
  INSERT INTO totals VALUES (NEW.day, NEW.host, NEW.agent, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING;
  UPDATE totals SET
    turns = turns + NEW.turns * (NEW.state = 'settled' AND NEW.kind = 'turn'),
    input_tokens = input_tokens + NEW.input_tokens * (NEW.state = 'settled'),
    cached_tokens = cached_tokens + NEW.cached_tokens * (NEW.state = 'settled'),
    output_tokens = output_tokens + NEW.output_tokens * (NEW.state = 'settled'),
    cost = cost + NEW.cost * (NEW.state = 'settled'),
    held = held + max(NEW.held, NEW.cost) * (NEW.state = 'held')
  WHERE day = NEW.day AND host = NEW.host AND agent = NEW.agent;
END;

-- An entry keeps its day, host and agent, and only a held entry changes.
CREATE TRIGGER entry_changed AFTER UPDATE ON entries BEGIN
  UPDATE totals SET
    turns = turns + NEW.turns * (NEW.state = 'settled' AND NEW.kind = 'turn'),
    input_tokens = input_tokens + NEW.input_tokens * (NEW.state = 'settled'),
    cached_tokens = cached_tokens + NEW.cached_tokens * (NEW.state = 'settled'),
    output_tokens = output_tokens + NEW.output_tokens * (NEW.state = 'settled'),
    cost = cost + NEW.cost * (NEW.state = 'settled'),
    held = held - max(OLD.held, OLD.cost) + max(NEW.held, NEW.cost) * (NEW.state = 'held')
  WHERE day = NEW.day AND host = NEW.host AND agent = NEW.agent;
END;
CREATE TRIGGER entry_is_final BEFORE UPDATE ON entries WHEN OLD.state <> 'held' BEGIN
  SELECT RAISE(ABORT, 'a settled entry does not change');
END;

CREATE TABLE raises (             -- what people added to a budget for one day
  id TEXT PRIMARY KEY,
  day TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope IN ('agent', 'host')),
  name TEXT NOT NULL,             -- of the agent or the host
  amount INTEGER NOT NULL CHECK (amount > 0),  -- in micro-dollars
  by TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE told (               -- which budgets people were told about on a day, so that each is told once
  day TEXT NOT NULL,
  scope TEXT NOT NULL,
  name TEXT NOT NULL,
  what TEXT NOT NULL CHECK (what IN ('warned', 'exhausted')),
  PRIMARY KEY (day, scope, name, what)
) STRICT, WITHOUT ROWID;

CREATE TABLE quotas (             -- logins whose provider refuses more until a known time
  login TEXT PRIMARY KEY,
  quota_window TEXT NOT NULL,
  until_ms INTEGER NOT NULL,
  agent TEXT NOT NULL             -- who was refused first
) STRICT, WITHOUT ROWID;
