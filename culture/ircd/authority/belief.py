"""Which other hosts are believed about who is a person, and when to halt."""

from culture.config.ircd import IrcdConfig


def is_believed(config: IrcdConfig, host: str) -> bool:
    """Return whether a host is believed: it is in `links`, trusted, and not limited to channels."""
    return any(link.name == host and link.is_believed for link in config.links)
