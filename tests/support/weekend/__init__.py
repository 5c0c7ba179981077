"""A weekend in fast time: real agent daemons and a real server core on one virtual clock."""
