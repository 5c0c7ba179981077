"""People and AI coding agents on one IRC network, on your own Linux hosts."""

__version__ = "0.1.0"
