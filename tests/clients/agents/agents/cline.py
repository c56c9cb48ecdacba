"""Cline's command-line client."""

from __future__ import annotations

import json
from typing import ClassVar

from agents.client import GO, KEY, Client, Place, Sent, native, texts
from agents.continue_dev import from_blocks
from scripted.talk import Result


class Cline(Client):
    name = "cline"
    package = "cline"
    config = "cline"
    revision = "2024-11-05"
    limit = 7_000
    budget = 7_000
    tells_of_cancel = False
    # The entry sets no timeout here, so the client gives up earlier.
    over_http: ClassVar = {"revision": "2025-11-25", "waits": False}

    def program(self) -> list[str]:
        return native("@cline/cli-linux-{machine}", "bin/cline")

    def prepare(self, place: Place) -> None:
        settings = {
            "provider": "openai-compatible",
            "apiKey": KEY,
            "model": "scripted",
            "baseUrl": f"{place.model}/v1",
        }
        provider = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
        providers = {"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}}
        place.put(".cline/data/settings/providers.json", providers | {"providers": {"openai-compatible": provider}})

    def arguments(self, place: Place) -> list[str]:
        return ["-P", "openai-compatible", "-m", "scripted", "--retries", "20", GO]

    def screen(self, place: Place) -> list[str]:
        return ["-i", "-P", "openai-compatible", "-m", "scripted", GO]

    def environment(self, place: Place) -> dict[str, str]:
        return {"CLINE_TELEMETRY_DISABLED": "1", "CLINE_NO_AUTO_UPDATE": "1"}

    def shown_as(self, tool: str) -> str:
        return f"scorpiox__{tool.replace('.', '_')}"

    def unwrap(self, result: Result) -> Sent:
        whole = "\n".join(texts(result))
        try:
            answer = json.loads(whole)
            sent = from_blocks(answer["content"])
        except (ValueError, TypeError, KeyError):
            # Truncated in the middle, it is not valid JSON.
            return Sent(whole.replace("\\n", "\n").replace('\\"', '"').removesuffix('"}],"isError":false}'))
        if "structuredContent" in answer:
            sent.text += "\n" + json.dumps(answer["structuredContent"])
        sent.failed = bool(answer.get("isError"))
        return sent


CLIENT = Cline()
