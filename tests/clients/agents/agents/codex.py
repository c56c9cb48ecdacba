"""Codex."""

from __future__ import annotations

import re

from scripted.talk import Result
from scripted.wires.responses import SEARCH

from agents.client import GO, KEY, Client, Place, Sent, images, native, texts

SETTINGS = """\
model = "{name}"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0

[projects."{workspace}"]
trust_level = "trusted"

[analytics]
enabled = false

[features]
enable_request_compression = false
"""

HEAD = re.compile(r"^Wall time: [\d.]+ seconds\nOutput:\n?")


class Codex(Client):
    name = "codex"
    package = "@openai/codex"
    config = "codex"
    revision = "2025-06-18"
    finder = SEARCH
    limit = 48_000
    allowing = (("Allow the scorpiox MCP server", ("Enter",)),)
    # For this model, the client announces only the namespace until a search.
    model_name = "gpt-5.5"

    def program(self) -> list[str]:
        return native("@openai/codex-linux-{machine}", "vendor/{vendor}-unknown-linux-musl/bin/codex")

    def prepare(self, place: Place) -> None:
        settings = SETTINGS.format(name=self.model_name, url=place.model, workspace=place.workspace)
        place.put(".codex/config.toml", settings)

    def arguments(self, place: Place) -> list[str]:
        return ["exec", "--skip-git-repo-check", "--json", GO]

    def screen(self, place: Place) -> list[str]:
        # For a known model, the client would first offer a newer one.
        return ["-m", "scripted", "-a", "on-request", GO]

    def environment(self, place: Place) -> dict[str, str]:
        return {"SCRIPTED_KEY": KEY}

    def shown_as(self, tool: str) -> str:
        return f"mcp__scorpiox::{tool.replace('.', '_')}"

    def exactly(self, tool: str) -> str:
        return f"scorpiox {tool}"

    def unwrap(self, result: Result) -> Sent:
        first, *others = texts(result) or [""]
        said = [HEAD.sub("", first), *others]
        return Sent("\n".join(text for text in said if text), images(result))


CLIENT = Codex()
