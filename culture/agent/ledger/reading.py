"""Read reports from the ledger of this host, for culturectl."""

from collections.abc import Mapping

from culture.config.paths import state_dir
from culture.store.ledger.file import FILE, read_report
from culture.store.ledger.records import By, Share


def read_shares(by: By, since: str, env: Mapping[str, str], *, is_installation: bool) -> list[Share]:
    """Return what agents used since a day; nothing if there is no ledger yet."""
    path = state_dir("", env) / FILE
    return read_report(path, by, since) if path.exists() else []
