"""Load what skills remember of accounts from before the server started."""

from culture.ircd.model.state import State
from culture.ircd.skills import Remembered
from culture.names import fold


def load_account_data(state: State, known: Remembered) -> None:
    """Load the read markers and the metadata of accounts."""
    for account, markers in known.markers.items():
        of_one = state.markers.of_accounts.setdefault(account, {})
        of_one.update((fold(target), timestamp) for target, timestamp in markers.items())
    for account, values in known.metadata.items():
        state.metadata.of_accounts.setdefault(account, {}).update(values)
