"""The open questions of this host's agents, from the running agents and from the files of the others."""

import getpass
import os
import time
from pathlib import Path

from culture.agent.questions.records import QuestionRecords, question_rows
from culture.config import loader
from culture.config.agents import AgentsConfig
from culture.ctl.agent_call import ask
from culture.ctl.agent_files import state_directory
from culture.ctl.output import Row
from culture.errors import UnavailableError
from culture.store.agent.file import AgentFile, stored_questions


def open_questions(file: Path) -> list[Row]:
    """Return the open questions of all agents in agents.yaml, the oldest first."""
    rows = [
        {"agent": agent.nick, **row}
        for agent in loader.load(file, AgentsConfig).agents
        for row in _rows(agent.nick)
    ]
    return sorted(rows, key=lambda row: str(row["asked"]))


def answer(nick: str, id: str, text: str) -> None:
    """Answer a question of an agent. An agent that does not run gets the answer when it starts."""
    try:
        ask(nick, {"type": "answer", "question": id, "text": text, "who": ""})
    except UnavailableError:
        directory = state_directory(nick)
        if directory is None:
            raise
        file = AgentFile(directory)
        try:
            records = QuestionRecords(file, nick, lambda: int(time.time() * 1000))
            records.answer_by_person(id, text, os.environ.get("SUDO_USER") or getpass.getuser())
        finally:
            file.close()


def _rows(nick: str) -> list[Row]:
    try:
        return list(ask(nick, {"type": "questions"})["questions"])
    except UnavailableError:
        return stored_rows(nick)


def stored_rows(nick: str) -> list[Row]:
    """Return the open questions in the file of an agent, whether it runs or not."""
    directory = state_directory(nick)
    if directory is None:
        return []
    with stored_questions(directory) as (questions, _):
        return question_rows(questions)
