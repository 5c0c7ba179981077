"""Read reports from the ledger of this host, for culturectl."""

import os
from collections.abc import Mapping
from typing import Final

from culture.agent.ledger.client import LedgerClient
from culture.config.paths import SYSTEM_STATE, ledger_socket, state_dir
from culture.store.ledger.file import FILE, read_report
from culture.store.ledger.records import By, Share

_SYSTEM_FILE: Final = SYSTEM_STATE / "ledger" / FILE


def read_shares(by: By, since: str, env: Mapping[str, str], *, is_installation: bool) -> list[Share]:
    """Return what agents used since a day; nothing if there is no ledger yet.

    Root reads the file of the services; others ask culture-ledger, which shows an agent only its own costs.
    """
    if is_installation and os.geteuid() != 0:
        client = LedgerClient(ledger_socket(env))
        try:
            return client.report(by, since)
        finally:
            client.close()
    path = _SYSTEM_FILE if is_installation else state_dir("", env) / FILE
    return read_report(path, by, since) if path.exists() else []
