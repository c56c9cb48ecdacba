"""Tools that a client does not list at once are found with common search terms."""

from __future__ import annotations

from typing import Any

from agents.client import Client
from scenes.step import Step
from scripted.talk import Shown

WORDS = {
    "Bash": "run a shell command",
    "ReadDocs": "read a web page",
    "TaskManager": "keep a list of tasks",
}


class ByWords:
    """Strategy of a model that knows its goal but not the tool's name."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def shown_as(self, tool: str) -> str:
        return self._client.shown_as(tool)

    def search(self, tools: dict[str, Shown], wanted: str) -> tuple[str, dict[str, Any]] | None:
        return self._client.search_for(tools, WORDS[wanted])


STEPS = [
    Step("a command, by words", "Bash", {"command": "echo FOUND"}, ("FOUND",)),
    Step("a page, by words", "ReadDocs", lambda s: {"url": f"{s.site.url}/short"}, ("Short page ends here.",)),
    Step(
        "the tasks, by words", "TaskManager", {"action": "create", "query": "", "text": "Found it"}, ("Found it",)
    ),
]
