"""Message history: a write-ahead journal, and a SQLite database that a thread fills from it."""
