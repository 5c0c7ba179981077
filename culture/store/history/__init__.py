"""History: what happens goes to a journal at once, and behind the traffic into SQLite, to be read."""
