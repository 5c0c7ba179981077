"""`culturectl prune`: delete history beyond the limits in ircd.yaml."""

import argparse
import time
from pathlib import Path

from culture.config.skills import ChannelRetention, HistoryConfig
from culture.ctl import output
from culture.ctl.options import add_ircd_config
from culture.ctl.verbs.server.history import load_history_config
from culture.names import fold
from culture.store import urls
from culture.store.history.archive import FILE
from culture.store.history.maintenance import opened
from culture.store.history.pruning import RetentionRule, prune


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_ircd_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    config, directory = load_history_config(options)
    # A file is missing if the server never ran, or runs without that skill.
    if (directory / FILE).exists():
        _prune_events(options, directory, config.history)
    if (links := directory.parent / urls.DIRECTORY / urls.FILE).exists():
        _prune_links(options, links.parent, config.history)
    return 0


def _prune_events(options: argparse.Namespace, directory: Path, keep: HistoryConfig) -> None:
    channels = {fold(each.name): _rule(each) for each in keep.channels}
    with opened(directory) as connection:
        gone = prune(connection, _rule(keep), channels, time.time())
    output.note(options, f"{gone} events deleted from history")


def _prune_links(options: argparse.Namespace, directory: Path, keep: HistoryConfig) -> None:
    channels = {fold(each.name): each.keep_days for each in keep.channels}
    gone = urls.Urls(directory).prune(keep.keep_days, channels, time.time())
    output.note(options, f"{gone} mentions of links deleted")


def _rule(keep: HistoryConfig | ChannelRetention) -> RetentionRule:
    return RetentionRule(keep.keep_days, keep.keep_messages)
