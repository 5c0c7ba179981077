"""`culturectl prune`: what the configuration says is not to be kept goes."""

import argparse
import sys
import time
from pathlib import Path

from culture.config.skills import ChannelRetention, HistoryConfig
from culture.ctl.history import add_config_argument, configured
from culture.names import fold
from culture.store import urls
from culture.store.history.archive import FILE
from culture.store.history.keeping import opened
from culture.store.history.pruning import Rule, prune


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config_argument(parser)


def run(options: argparse.Namespace) -> int:
    config, directory = configured(options)
    # What is not there is of a server that never ran, or does not remember it.
    if (directory / FILE).exists():
        _prune_events(directory, config.history)
    if (links := directory.parent / urls.DIRECTORY / urls.FILE).exists():
        _prune_links(links.parent, config.history)
    return 0


def _prune_events(directory: Path, keep: HistoryConfig) -> None:
    channels = {fold(each.name): _rule(each) for each in keep.channels}
    with opened(directory) as connection:
        gone = prune(connection, _rule(keep), channels, time.time())
    print(f"{gone} events of history removed", file=sys.stderr)


def _prune_links(directory: Path, keep: HistoryConfig) -> None:
    channels = {fold(each.name): each.keep_days for each in keep.channels}
    gone = urls.Urls(directory).prune(keep.keep_days, channels, time.time())
    print(f"{gone} mentions of links removed", file=sys.stderr)


def _rule(keep: HistoryConfig | ChannelRetention) -> Rule:
    return Rule(keep.keep_days, keep.keep_messages)
