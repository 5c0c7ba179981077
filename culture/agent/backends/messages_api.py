"""Ask a Claude model directly by the Messages API: the cheapest call without tools, if there is an API key.

https://docs.anthropic.com/en/api/messages
"""

from collections.abc import Mapping
from typing import Any, Final

import aiohttp

from culture.agent.backends import wording
from culture.agent.backends.quota import TOO_MANY_REQUESTS
from culture.agent.contract import SessionSpec, SideAnswer, ToollessModel, Usage
from culture.errors import TemporaryError

TIMEOUT_S: Final = 120.0
VERSION: Final = "2023-06-01"
_URL: Final = "https://api.anthropic.com"
_MAX_TOKENS: Final = 2000
# With thinking, its tokens count as output.
_MAX_TOKENS_THINKING: Final = 16_000
# Names that Claude Code knows and the API does not.
_FAMILIES: Final = ("haiku", "sonnet", "opus")
# A login that leads past the API, whatever key there is.
_OTHER_PROVIDERS: Final = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")


def login_headers(env: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that log in to the API with the key in an environment; empty if it has none."""
    if any(env.get(name) for name in _OTHER_PROVIDERS):
        return {}
    if key := env.get("ANTHROPIC_API_KEY"):
        return {"x-api-key": key}
    if token := env.get("ANTHROPIC_AUTH_TOKEN"):
        return {"authorization": f"Bearer {token}"}
    return {}


class MessagesApiModel(ToollessModel):
    """A Claude model behind the Messages API. `env` is the environment of the backend, with the key in it."""

    def __init__(self, spec: SessionSpec, env: Mapping[str, str]) -> None:
        self._spec = spec
        self._url = (env.get("ANTHROPIC_BASE_URL") or _URL).rstrip("/")
        self._headers = {**login_headers(env), "anthropic-version": VERSION}
        # Found out at the first call if the configured name is not one of the API.
        self._model = "" if spec.model in ("", *_FAMILIES) else spec.model

    async def complete(self, system: str, prompt: str) -> SideAnswer:
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        try:
            async with aiohttp.ClientSession(headers=self._headers, timeout=timeout, trust_env=True) as http:
                self._model = self._model or await self._find_model(http)
                return _side_answer(await self._ask(http, system, prompt))
        except TimeoutError:
            raise TemporaryError(f"the model did not answer within {TIMEOUT_S:.0f} s") from None
        except (aiohttp.ClientError, ValueError) as error:
            raise TemporaryError(f"cannot ask the model: {error}") from None

    async def _find_model(self, http: aiohttp.ClientSession) -> str:
        """Return the newest model of the configured family; without one, of the smallest."""
        async with http.get(f"{self._url}/v1/models") as response:
            _check(response)
            ids = [str(model["id"]) for model in (await response.json()).get("data", ())]
        if not ids:
            raise TemporaryError("the API lists no models")
        family = self._spec.model or _FAMILIES[0]
        return next((id for id in ids if family in id), ids[0])

    async def _ask(self, http: aiohttp.ClientSession, system: str, prompt: str) -> Mapping[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": _MAX_TOKENS,
            "system": system,
            "messages": [{"role": "user", "content": prompt}],
        }
        if self._spec.thinking not in ("off", "low"):
            body |= {
                "max_tokens": _MAX_TOKENS_THINKING,
                "thinking": {"type": "adaptive"},
                "output_config": {"effort": self._spec.thinking},
            }
        async with http.post(f"{self._url}/v1/messages", json=body) as response:
            _check(response)
            answer: Mapping[str, Any] = await response.json()
            return answer


def _check(response: aiohttp.ClientResponse) -> None:
    if response.status < 400:
        return
    why = wording.api_error(response.status)
    wait = response.headers.get("retry-after", "")
    if response.status == TOO_MANY_REQUESTS and wait.isdecimal():
        why += f"; it asks to wait {wait} s"
    raise TemporaryError(why)


def _side_answer(answer: Mapping[str, Any]) -> SideAnswer:
    """Convert a message of the API, which counts apart what it read from its cache and what it put there."""
    parts = [part for part in answer.get("content") or () if part.get("type") == "text"]
    used = answer.get("usage") or {}
    cached = used.get("cache_read_input_tokens") or 0
    given = (used.get("input_tokens") or 0) + (used.get("cache_creation_input_tokens") or 0) + cached
    usage = Usage(given, cached, used.get("output_tokens") or 0)
    return SideAnswer("".join(part["text"] for part in parts), usage, None, str(answer.get("model") or ""))
