"""opencode."""

from __future__ import annotations

from agents.client import GO, KEY, Client, Place, Sent, images, native, texts
from scripted.talk import Result

CAPABILITIES = {
    "attachment": True,
    "tool_call": True,
    "modalities": {"input": ["text", "image"], "output": ["text"]},
}


class OpenCode(Client):
    name = "opencode"
    package = "opencode-ai"
    config = "opencode"
    revision = "2025-11-25"
    limit = 40_000
    cancelling = (("esc interrupt", ("Escape",)), ("again", ("Escape",)))

    def program(self) -> list[str]:
        return native("opencode-linux-{machine}", "bin/opencode")

    def prepare(self, place: Place) -> None:
        limit = {"context": 1_000_000, "output": 8000}
        model = {"name": "scripted", **CAPABILITIES, "limit": limit}
        options = {"baseURL": f"{place.model}/v1", "apiKey": KEY}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": options}
        settings = {
            "$schema": "https://opencode.ai/config.json",
            "autoupdate": False,
            "share": "disabled",
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "permission": {"*": "allow"},
            "provider": {"scripted": provider | {"models": {"scripted": model}}},
        }
        place.put(".config/opencode/opencode.json", settings)

    def arguments(self, place: Place) -> list[str]:
        return ["run", "--pure", GO]

    def screen(self, place: Place) -> list[str]:
        return ["--pure", "--prompt", GO]

    def environment(self, place: Place) -> dict[str, str]:
        quiet = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
        return {f"OPENCODE_DISABLE_{what}": "1" for what in quiet}

    def shown_as(self, tool: str) -> str:
        return f"scorpiox_{tool.replace('.', '_')}"

    def unwrap(self, result: Result) -> Sent:
        return Sent("\n\n".join(texts(result)), images(result))


CLIENT = OpenCode()
