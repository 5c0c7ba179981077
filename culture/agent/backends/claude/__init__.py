"""Claude Code, by claude-agent-sdk: one resident session of the real CLI."""
