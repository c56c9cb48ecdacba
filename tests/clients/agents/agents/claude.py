"""Claude Code."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from agents.client import GO, KEY, Client, Place, Sent, images, native, texts
from scripted.talk import Result

# Notes from the client itself to the model.
REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.S)


class Claude(Client):
    name = "claude"
    package = "@anthropic-ai/claude-code"
    config = "claude-code"
    own_file = ".claude.json"
    revision = "2026-07-28"
    finder = "ToolSearch"
    limit = 48_000
    # Set by `anthropic/maxResultSizeChars`.
    limits: ClassVar = {"ReadDocs": 500_000}
    budgets: ClassVar = {"ReadDocs": 100_000}
    # Expands the options, selects the first, which moves to the next field, and continues to the end.
    answering = (
        ("requests your input", ("Right",)),
        ("Red", ("Enter",)),
        (r"❯ +Other", ("Down",)),
        (r"❯ +Accept", ("Enter",)),
    )

    def program(self) -> list[str]:
        return native("@anthropic-ai/claude-code-linux-{machine}", "claude")

    def prepare(self, place: Place) -> None:
        project: dict[str, Any] = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        # Consent to the project's .mcp.json, which `config` writes.
        project |= {"enabledMcpjsonServers": ["scorpiox"]}
        settings = {"hasCompletedOnboarding": True, "theme": "dark", "projects": {str(place.workspace): project}}
        settings |= {"customApiKeyResponses": {"approved": [KEY], "rejected": []}}
        place.put(".claude.json", settings)
        place.put(".claude/settings.json", {"enabledMcpjsonServers": ["scorpiox"]})

    def arguments(self, place: Place) -> list[str]:
        return ["-p", *self.screen(place), "--output-format", "json"]

    def screen(self, place: Place) -> list[str]:
        return [GO, "--allowedTools", "mcp__scorpiox", "--model", "claude-sonnet-4-5"]

    def environment(self, place: Place) -> dict[str, str]:
        quiet = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER")
        return {"ANTHROPIC_BASE_URL": place.model, "ANTHROPIC_API_KEY": KEY} | dict.fromkeys(quiet, "1")

    def shown_as(self, tool: str) -> str:
        return f"mcp__scorpiox__{tool.replace('.', '_')}"

    def unwrap(self, result: Result) -> Sent:
        said = [REMINDER.sub("", text) for text in texts(result)]
        said = [text for text in said if text and not text.startswith("[Image: source: ")]
        return Sent("\n".join(said), images(result), result.failed)


CLIENT = Claude()
