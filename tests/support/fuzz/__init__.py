"""Games: what random clients do to the server, and the shortest way to what goes wrong."""
