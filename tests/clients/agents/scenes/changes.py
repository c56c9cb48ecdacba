"""A plugin is approved during the conversation, which triggers tools/list_changed."""

from __future__ import annotations

from pathlib import Path

import processes
from scenes.step import Failed, Stage, Step

# Component from the tests' guests.
COMPONENT = Path(__file__).resolve().parents[4] / "target/test-components/kinds.component.wasm"
MANIFEST = 'name = "kinds"\ncomponent = "c.wasm"\n'


def approve_plugin(stage: Stage) -> None:
    """Approves the plugin by its hash, without a prompt."""
    folder = stage.session.base / "kinds"
    folder.mkdir()
    (folder / "plugin.toml").write_text(MANIFEST)
    (folder / "c.wasm").write_bytes(COMPONENT.read_bytes())
    shown = stage.session.program("plugin", "hash", str(folder))
    if shown.returncode != 0:
        raise Failed(f"plugin hash: {shown.stdout}{shown.stderr}")
    added = stage.session.program("plugin", "add", str(folder), "--yes", shown.stdout.strip())
    if added.returncode != 0:
        raise Failed(f"plugin add: {added.stdout}{added.stderr}")
    if not processes.wait_for(lambda: told(stage), 10):
        raise Failed("the server did not tell of the new tools")


def told(stage: Stage) -> bool:
    said = stage.session.messages("server")
    return any(message.get("method") == "notifications/tools/list_changed" for message in said)


STEPS = [
    Step("before", "Bash", {"command": "echo BEFORE"}, ("BEFORE",)),
    Step(
        "meanwhile a plugin is approved",
        "Bash",
        {"command": "echo MEANWHILE"},
        ("MEANWHILE",),
        before=approve_plugin,
    ),
    Step("the next command", "Bash", {"command": "echo NEXT"}, ("NEXT",)),
    Step("a tool that is new", "kinds.divide", {"a": 42, "b": 6}, ("7",), data=True),
]
