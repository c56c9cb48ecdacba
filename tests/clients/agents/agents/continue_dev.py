"""Continue's command-line client, `cn`."""

from __future__ import annotations

import base64
import json
from typing import ClassVar

from agents.client import GO, KEY, Client, Place, Sent, script, texts
from scripted.talk import Result

SETTINGS = """\
name: scripted
version: 1.0.0
schema: v1
models:
  - name: scripted
    provider: openai
    model: scripted
    apiBase: {url}/v1
    apiKey: {key}
    roles: [chat]
    capabilities: [tool_use, image_input]
"""


class Continue(Client):
    name = "continue"
    package = "@continuedev/cli"
    config = "continue"
    revision = "2025-11-25"
    limit = 200_000
    tells_of_cancel = False
    waits = False
    over_http: ClassVar = {"ends_calls": False}
    allowing = (("- scorpiox", (GO, "Enter")),)

    def program(self) -> list[str]:
        return script("@continuedev/cli/dist/cn.js")

    def prepare(self, place: Place) -> None:
        place.put(".continue/config.yaml", SETTINGS.format(url=place.model, key=KEY))

    def arguments(self, place: Place) -> list[str]:
        return ["-p", GO, *self.screen(place)]

    def screen(self, place: Place) -> list[str]:
        # Omits the prompt, which the client would process before it has connected to HTTP servers.
        return ["--auto", "--config", str(place.home / ".continue/config.yaml")]

    def environment(self, place: Place) -> dict[str, str]:
        return {"CONTINUE_TELEMETRY_ENABLED": "0", "CONTINUE_CLI_ENABLE_TELEMETRY": "0"}

    def shown_as(self, tool: str) -> str:
        # Without a prefix, the client runs its own tool of the same name.
        return f"scorpiox_{tool}"

    def unwrap(self, result: Result) -> Sent:
        whole = "\n".join(texts(result))
        try:
            return from_blocks(json.loads(whole))
        except (ValueError, TypeError, KeyError):
            return Sent(whole)


def from_blocks(blocks: list[dict[str, str]]) -> Sent:
    """Parses content that reached the model as JSON in a text."""
    said = [block["text"] for block in blocks if block["type"] == "text"]
    return Sent("\n".join(said), [base64.b64decode(block["data"]) for block in blocks if block["type"] == "image"])


CLIENT = Continue()
