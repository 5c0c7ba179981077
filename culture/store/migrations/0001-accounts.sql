CREATE TABLE accounts (
  key TEXT PRIMARY KEY,        -- the name as names are compared
  name TEXT NOT NULL,
  created_at REAL NOT NULL,
  password TEXT NOT NULL,      -- scrypt, for who sends it
  scram TEXT NOT NULL          -- SCRAM-SHA-256 (RFC 5803), for who proves to know it
) STRICT, WITHOUT ROWID;

CREATE TABLE certificates (
  fingerprint TEXT PRIMARY KEY,  -- SHA-256 of the certificate, in lower case
  account TEXT NOT NULL REFERENCES accounts (key) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE secrets (
  name TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
