"""Real systemd hosts for tests: Debian in systemd-nspawn, on a machine whose own PID 1 may be anything."""
