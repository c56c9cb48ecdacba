"""Gemini CLI."""

from __future__ import annotations

import json
import re
from typing import ClassVar

from agents.client import GO, KEY, Client, Place, Sent, images, script, texts
from scripted.talk import Result

WRAPPED = re.compile(r"<untrusted_context>\n(.*?)\n</untrusted_context>", re.S)
# Client's text about an image, which follows separately.
OF_IMAGE = re.compile(r"\n?\[Tool '[^']*' provided the following image data with mime-type: [^\]]*\]")
# An error result is sent as JSON in its entirety.
ERROR = re.compile(
    r"^MCP tool '[^']*' reported tool error for function call: .*? with response: (\[\{.*\}\])\s*$", re.S
)


class Gemini(Client):
    name = "gemini"
    package = "@google/gemini-cli"
    config = "gemini"
    revision = "2025-06-18"
    limit = 40_000
    tells_of_cancel = False
    over_http: ClassVar = {"ends_calls": False}

    def program(self) -> list[str]:
        return script("@google/gemini-cli/bundle/gemini.js")

    def prepare(self, place: Place) -> None:
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
            "telemetry": {"enabled": False},
            # After 30 turns, loop detection would send an additional request to the model.
            "model": {"disableLoopDetection": True},
        }
        place.put(".gemini/settings.json", settings)

    def arguments(self, place: Place) -> list[str]:
        return ["-p", *self.options()]

    def screen(self, place: Place) -> list[str]:
        return ["-i", *self.options()]

    def options(self) -> list[str]:
        return [GO, "--approval-mode", "yolo", "--skip-trust", "-m", "gemini-2.5-pro"]

    def environment(self, place: Place) -> dict[str, str]:
        return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": place.model, "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def shown_as(self, tool: str) -> str:
        return f"mcp_scorpiox_{tool}"

    def unwrap(self, result: Result) -> Sent:
        whole = "\n".join(texts(result))
        if result.failed:
            return error_of(whole)
        parts = WRAPPED.findall(whole)
        rest = OF_IMAGE.sub("", WRAPPED.sub("", whole)).strip()
        return Sent("\n".join([*parts, rest] if rest else parts), images(result), False)


def error_of(whole: str) -> Sent:
    """Extracts the server's result from an error."""
    found = ERROR.match(whole)
    if not found:
        return Sent(whole, failed=True)
    response = json.loads(found[1])[0]["functionResponse"]["response"]
    answer = response.get("error", response)
    said = [block["text"] for block in answer.get("content", []) if block["type"] == "text"]
    if "structuredContent" in answer:
        said.append(json.dumps(answer["structuredContent"]))
    return Sent("\n".join(said), failed=True)


CLIENT = Gemini()
