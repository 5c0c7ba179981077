"""GitHub Copilot: one resident session of the real CLI, spoken with as its own SDKs do."""
