"""Codex, by its app-server: JSON-RPC on the pipes of the real CLI."""
