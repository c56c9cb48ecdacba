"""Qwen Code."""

from __future__ import annotations

from typing import ClassVar

from agents.client import GO, KEY, Client, Place, Sent, images, script, texts
from agents.gemini import OF_IMAGE, error_of
from scripted.talk import Result


class Qwen(Client):
    name = "qwen"
    package = "@qwen-code/qwen-code"
    config = "qwen"
    revision = "2025-11-25"
    finder = "tool_search"
    limit = 25_000
    over_http: ClassVar = {"tells_of_cancel": False, "ends_calls": False}

    def program(self) -> list[str]:
        return script("@qwen-code/qwen-code/cli.js")

    def prepare(self, place: Place) -> None:
        settings = {
            "security": {"auth": {"selectedType": "openai"}},
            "model": {"name": "scripted", "generationConfig": {"modalities": {"image": True}}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
            "telemetry": {"enabled": False},
        }
        place.put(".qwen/settings.json", settings)

    def arguments(self, place: Place) -> list[str]:
        return ["-p", *self.options()]

    def screen(self, place: Place) -> list[str]:
        return ["-i", *self.options()]

    def options(self) -> list[str]:
        return [GO, "--approval-mode", "yolo", "--auth-type", "openai"]

    def environment(self, place: Place) -> dict[str, str]:
        return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{place.model}/v1", "OPENAI_MODEL": "scripted"}

    def shown_as(self, tool: str) -> str:
        return f"mcp__scorpiox__{tool.replace('.', '_')}"

    def unwrap(self, result: Result) -> Sent:
        said = "\n".join(OF_IMAGE.sub("", text) for text in texts(result))
        if said.startswith("MCP tool '"):
            return error_of(said)
        return Sent(said, images(result), False)


CLIENT = Qwen()
