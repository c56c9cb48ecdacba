"""Runs the program over stdio, as an MCP client does, in a separate home and workspace."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

# Maximum time of a command, in seconds: `plugin add` may compile for 5 minutes.
COMMAND_SECONDS = 330
# Maximum time of a session, in seconds: a call ends after 60 by itself.
SESSION_SECONDS = 300

# Components send requests to a local web server.
POLICY = 'version = 1\n[web]\nallow_private = ["127.0.0.1/32"]\n'


class Place:
    """Home directory and workspace."""

    def __init__(self, binary: Path, base: Path) -> None:
        self.binary = binary
        self.workspace = base / "workspace"
        self.workspace.mkdir(parents=True)
        home = base / ".scorpiox"
        home.mkdir(mode=0o700)
        (home / "policy.toml").write_text(POLICY)
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(base),
            "SCORPIOX_HOME": str(home),
        }

    def run(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.binary, *words],
            cwd=self.workspace,
            env=self.environment,
            input=given,
            capture_output=True,
            encoding="utf-8",
            timeout=COMMAND_SECONDS,
        )

    def done(self, *words: str, given: str = "") -> str:
        """Returns the output of a command that must succeed."""
        ran = self.run(*words, given=given)
        assert ran.returncode == 0, f"{' '.join(words)}: {ran.stdout}{ran.stderr}"
        return ran.stdout

    def install(self, component: Path, name: str, capabilities: str) -> None:
        """Turns a file into an approved plugin: draft, capabilities, hash, approval."""
        self.done("plugin", "init", str(component), "--name", name, "--out", name)
        with open(self.workspace / name / "plugin.toml", "a", encoding="utf-8") as manifest:
            manifest.write(capabilities)
        self.done("plugin", "add", name, "--yes", self.done("plugin", "hash", name).strip())


class Server:
    """Session with a server."""

    def __init__(self, place: Place) -> None:
        self._process = subprocess.Popen(
            [place.binary],
            cwd=place.workspace,
            env=place.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        self._watch = threading.Timer(SESSION_SECONDS, self._process.kill)
        self._watch.start()
        self._last = 0
        self._ask(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "peers", "version": "1"},
            },
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.cancel()
        self._process.kill()
        self._process.communicate()

    def _send(self, message: dict[str, Any]) -> None:
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        while line := self._process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self._last:
                assert "result" in message, message
                return message["result"]
        raise AssertionError("the server ended")

    def tools(self) -> list[str]:
        return [tool["name"] for tool in self._ask("tools/list", {})["tools"]]

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        """Returns whether the call succeeded, and the text."""
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        text = "".join(part.get("text", "") for part in result["content"])
        return not result.get("isError", False), text
