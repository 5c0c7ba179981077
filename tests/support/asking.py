"""culture-agent with a scripted backend that asks a question and says what the answer was.

    HOLD_BEFORE=posted python -m support.asking NICK --config FILE

A prompt with `ask` makes it ask a yes or no question with its irc skill, and say `got` and the decision. With
`hold` it does not end its first turn after the answer. `say WORD` makes it say `got WORD`. With HOLD_BEFORE
the daemon stops for good right before it commits that state of a question, so that a test can kill it there.
"""

import asyncio
import json
import logging
import os
import re
import time

from culture.agent.backends.table import BACKENDS
from culture.daemons.agent import main
from culture.store.agent.questions import QuestionStore
from support.scripted import ScriptedRunner

QUESTION = "Delete 47 files? [y/N]"
_TO_SAY = re.compile(r"\[IRC answer to question \w+\] <\S+> (?:@\S+ )?(\w+)|say (\w+)")
log = logging.getLogger(__name__)


class AskingRunner(ScriptedRunner):
    async def _turn(self, prompt: str) -> None:
        if found := _TO_SAY.search(prompt):
            await self._say("#general", f"got {found[1] or found[2]}")
        else:
            ask = {"type": "irc_ask", "channel": "#general", "question": QUESTION, "timeout": 600}
            answer = await self._request(ask)
            if "hold" in prompt and "[IRC again]" not in prompt:
                await asyncio.Event().wait()
            await self._say("#general", f"got {answer['data']['choice']}")
        await self._result("")

    async def _request(self, request: dict[str, object]) -> dict:
        reader, writer = await asyncio.open_unix_connection(self._spec.env["CULTURE_SOCKET"])
        writer.write(json.dumps({"id": "1", **request}).encode() + b"\n")
        answer = json.loads(await reader.readline())
        writer.close()
        return dict(answer)


def hold_before(state: str) -> None:
    """Make the daemon stop right before it commits a state: the transaction is never finished."""
    name = {"posted": "posted", "answered": "answer", "delivered": "delivered"}[state]

    def stop(*arguments: object, **options: object) -> bool:
        log.warning("held before %s", state)
        while True:
            time.sleep(3600)

    setattr(QuestionStore, name, stop)


if __name__ == "__main__":
    if os.environ.get("HOLD_BEFORE"):
        hold_before(os.environ["HOLD_BEFORE"])
    BACKENDS["claude"] = AskingRunner
    main()
