-- A message may come from its host when it is already known to be redacted.
CREATE INDEX redactions ON events (params) WHERE command = 'REDACT';
