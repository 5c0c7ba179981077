"""A scripted model on loopback: real programs and CLIs run against it, without a key and without spending."""
