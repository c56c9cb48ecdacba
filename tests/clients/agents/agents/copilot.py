"""Copilot CLI with a custom model."""

from __future__ import annotations

from agents.client import GO, KEY, Client, Place, Sent, images, native, texts
from scripted.talk import Result

ERROR = "MCP server 'scorpiox': "


class Copilot(Client):
    name = "copilot"
    package = "@github/copilot"
    config = "copilot"
    revision = "2026-07-28"
    limit = 20_000
    cancelling = (("", ("Escape", "Escape")),)
    tells_of_cancel = False
    answering = (("❯ Red", ("Enter",)), (r"\[Other\]", ("Enter",)))

    def program(self) -> list[str]:
        return native("@github/copilot-linux-{machine}", "copilot")

    def prepare(self, place: Place) -> None:
        # Consent to work in the directory.
        place.put(".copilot/config.json", {"trusted_folders": [str(place.workspace)], "banner": "never"})

    def arguments(self, place: Place) -> list[str]:
        return ["-p", *self.options()]

    def screen(self, place: Place) -> list[str]:
        return ["-i", *self.options()]

    def options(self) -> list[str]:
        return [GO, "--allow-all-tools", "--disable-builtin-mcps", "--no-auto-update"]

    def environment(self, place: Place) -> dict[str, str]:
        provider = {"BASE_URL": f"{place.model}/v1", "TYPE": "openai", "API_KEY": KEY, "WIRE_API": "completions"}
        own = {f"COPILOT_PROVIDER_{name}": value for name, value in provider.items()}
        return own | {"COPILOT_MODEL": "scripted", "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"}

    def shown_as(self, tool: str) -> str:
        return f"scorpiox-{tool.replace('.', '-')}"

    def unwrap(self, result: Result) -> Sent:
        said = "".join(texts(result))
        return Sent(said.removeprefix(ERROR), images(result), said.startswith(ERROR))


CLIENT = Copilot()
