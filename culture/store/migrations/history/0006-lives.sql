CREATE TABLE lives (           -- since when there was a channel of that name, each time
  place INTEGER NOT NULL REFERENCES places (id) ON DELETE CASCADE,
  since_ms INTEGER NOT NULL,
  PRIMARY KEY (place, since_ms)
) STRICT, WITHOUT ROWID;

-- In each of them, not only in the first.
ALTER TABLE seats RENAME TO first_seats;
CREATE TABLE seats (           -- who came to a channel, and when
  place INTEGER NOT NULL REFERENCES places (id) ON DELETE CASCADE,
  end TEXT NOT NULL,
  joined_at_ms INTEGER NOT NULL,
  PRIMARY KEY (place, end, joined_at_ms)
) STRICT, WITHOUT ROWID;
INSERT INTO seats SELECT place, end, joined_at_ms FROM first_seats;
DROP TABLE first_seats;
