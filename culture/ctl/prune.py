"""`culturectl prune`: what the configuration says is not to be kept goes."""

import argparse
import sys
import time

from culture.config.skills import ChannelRetention, HistoryConfig
from culture.ctl.history import add_config_argument, configured
from culture.names import fold
from culture.store.history.archive import FILE
from culture.store.history.keeping import opened
from culture.store.history.pruning import Rule, prune


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config_argument(parser)


def run(options: argparse.Namespace) -> int:
    config, directory = configured(options)
    if not (directory / FILE).exists():
        # The server never ran, or remembers nothing.
        return 0
    with opened(directory) as connection:
        gone = prune(
            connection,
            _rule(config.history),
            {fold(each.name): _rule(each) for each in config.history.channels},
            time.time(),
        )
    print(f"{gone} events of history removed", file=sys.stderr)
    return 0


def _rule(keep: HistoryConfig | ChannelRetention) -> Rule:
    return Rule(keep.keep_days, keep.keep_messages)
