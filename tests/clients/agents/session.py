"""One run of one agent: its directories, its processes, and the messages between it and the server."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import processes
from agents.client import Client, Place
from screen import Screen
from site_of_tests import Site
from transports import TRANSPORTS

# Engines without an API key, except the one that the site simulates.
ENGINES = ("duckduckgo", "brave", "startpage", "bing", "mojeek", "qwant", "yahoo", "yep", "mwmbl", "wikipedia")

POLICY = """\
version = 1

[web]
allow_private = ["127.0.0.1/32"]
browser = false

[search.engine.wiby]
base_url = "{url}/engine"
"""

SKILL = "---\nname: hello\ndescription: Says hello to somebody\n---\nSay HELLO-SKILL-BODY to $ARGUMENTS.\n"
# Revision in which closing the connection of a call cancels the call.
WITHOUT_SESSIONS = "2026-07-28"

# Number of skills that exceeds the description of InvokeSkill, so that SearchSkills is listed.
MORE_SKILLS = 100


@dataclass
class Served:
    """Call as the server answered it."""

    tool: str
    text: str
    # Number of texts in the result.
    blocks: int
    images: int
    failed: bool
    structured: bool


class Session:
    """Directories and processes of one run, below `base`."""

    def __init__(
        self,
        client: Client,
        binary: Path,
        base: Path,
        url: str,
        site: Site,
        *,
        transport: str,
        relay: bool,
        late: bool,
    ) -> None:
        self.client, self.binary, self.base = client, binary, base
        self.home, self.workspace = base / "home", base / "workspace"
        self.place = Place(self.home, self.workspace, url)
        self._lines = base / "lines.jsonl"
        self.workspace.mkdir(parents=True)
        self._furnish(site)
        client.prepare(self.place)
        self.transport = TRANSPORTS[transport](self, self._lines if relay else None)
        try:
            file = self.transport.enter()
        except AssertionError:
            self.end()
            raise
        if late:
            file.write_text(file.read_text().replace('"alwaysLoad": true', '"alwaysLoad": false'))

    def _furnish(self, site: Site) -> None:
        policy = POLICY.format(url=site.url)
        policy += "".join(f"\n[search.engine.{engine}]\nenabled = false\n" for engine in ENGINES)
        self.place.put(".scorpiox/policy.toml", policy).chmod(0o600)
        (self.home / ".scorpiox").chmod(0o700)
        skills = {"hello": SKILL}
        for number in range(MORE_SKILLS):
            name = f"more-{number:03}"
            skills[name] = f"---\nname: {name}\ndescription: Has the number {number}\n---\nNothing.\n"
        for name, text in skills.items():
            skill = self.workspace / ".scorpiox/skills" / name / "SKILL.md"
            skill.parent.mkdir(parents=True)
            skill.write_text(text)

    def environment(self) -> dict[str, str]:
        own = {"HOME": str(self.home), "PATH": os.environ["PATH"], "SHELL": "/bin/bash", "DO_NOT_TRACK": "1"}
        return own | {"LANG": "C.UTF-8"} | self.client.environment(self.place)

    def program(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a command of the program on behalf of the user."""
        return subprocess.run(
            [str(self.binary), *arguments],
            env=self.environment(),
            cwd=self.workspace,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def run(self, seconds: float) -> str:
        """Runs the agent once without a user, and returns how it ended."""
        environment = self.environment() | {"TERM": "dumb", "NO_COLOR": "1"}
        command = [*self.client.program(), *self.client.arguments(self.place)]
        with open(self.base / "out", "wb") as out, open(self.base / "err", "wb") as err:
            agent = subprocess.Popen(
                command,
                env=environment,
                cwd=self.workspace,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            try:
                return f"exit status {agent.wait(seconds)}"
            except subprocess.TimeoutExpired:
                return f"stopped after {seconds:.0f} s"
            finally:
                self.end_agent()
                agent.wait()

    def on_screen(self) -> Screen:
        """Starts the agent on a screen with a user."""
        command = [*self.client.program(), *self.client.screen(self.place)]
        environment = self.environment() | {"TERM": "xterm-256color"}
        return Screen(command, environment, self.workspace, self.base)

    def end_agent(self) -> None:
        """Ends the agent and the processes that it started."""
        processes.sweep(self.home)

    def end(self) -> None:
        self.end_agent()
        self.transport.end()

    def said(self) -> str:
        """Returns the end of the agent's output, for an error message."""
        ends = [
            (self.base / name).read_text(errors="replace")[-800:]
            for name in ("out", "err", "server-err")
            if (self.base / name).exists()
        ]
        return "\n".join(ends)

    def messages(self, who: str) -> list[dict[str, Any]]:
        """Returns the messages that the client or the server has sent so far."""
        return [message for _, message in self._said(who)]

    def _said(self, who: str) -> list[tuple[str, dict[str, Any]]]:
        """Returns the messages, each with its session: two sessions of one client use the same request
        IDs."""
        if not self._lines.exists():
            return []
        lines = [json.loads(line) for line in self._lines.read_text().splitlines() if line.endswith("}")]
        found = []
        for line in lines:
            try:
                message = json.loads(line["line"]) if line["who"] == who else None
            except ValueError:
                continue
            found += [(line.get("session", ""), message)] if isinstance(message, dict) else []
        return found

    def revision(self) -> str:
        """Returns the negotiated revision."""
        for message in self.messages("server"):
            agreed = message.get("result", {}).get("protocolVersion")
            if agreed:
                return str(agreed)
        calls = [message for message in self.messages("client") if message.get("method") == "tools/call"]
        meta = calls[0]["params"].get("_meta", {}) if calls else {}
        return str(meta.get("io.modelcontextprotocol/protocolVersion", "none"))

    def cancelled(self) -> list[Any]:
        """Returns the requests that the client cancelled."""
        said = self.messages("client")
        told = [
            message["params"]["requestId"] for message in said if message.get("method") == "notifications/cancelled"
        ]
        if self.revision() == WITHOUT_SESSIONS:
            left = self.messages("left")
            told += [message["id"] for message in left if message.get("method") == "tools/call"]
        return told

    def served(self) -> list[Served]:
        """Returns the completed calls in order."""
        answers = {(session, m["id"]): m["result"] for session, m in self._said("server") if "result" in m}
        found = []
        for session, message in self._said("client"):
            called = message.get("method") == "tools/call"
            result = answers.get((session, message.get("id")), {}) if called else {}
            if "content" in result:
                # Some clients use the names with a prefix.
                found.append(served(message["params"]["name"].removeprefix("scorpiox_"), result))
        return found


def served(tool: str, result: dict[str, Any]) -> Served:
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    images = sum(block["type"] == "image" for block in result["content"])
    structured = "structuredContent" in result
    return Served(tool, "\n".join(texts), len(texts), images, bool(result.get("isError")), structured)
