"""The skills that come with the server. None of them knows another."""
