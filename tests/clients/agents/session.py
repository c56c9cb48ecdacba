"""One run of one agent: its folders, its processes, and what passed between it and the server."""

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

# Every engine that is asked without a key, but the one that the site plays.
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
# The revision in which a client that closes the connection of a call takes the call back.
WITHOUT_SESSIONS = "2026-07-28"

# More than the description of InvokeSkill can describe, so that SearchSkills is listed.
MORE_SKILLS = 100


@dataclass
class Served:
    """A call as the server answered it."""

    tool: str
    text: str
    # How many texts it is made of.
    blocks: int
    images: int
    failed: bool
    structured: bool


class Session:
    """Folders and processes of one run, below `base`."""

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
        """The program's own commands, as the person gives them."""
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
        """Runs the agent once, without a person; how it ended."""
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
        """The agent with a person in front of it."""
        command = [*self.client.program(), *self.client.screen(self.place)]
        environment = self.environment() | {"TERM": "xterm-256color"}
        return Screen(command, environment, self.workspace, self.base)

    def end_agent(self) -> None:
        """Ends the agent, with what it started."""
        processes.sweep(self.home)

    def end(self) -> None:
        self.end_agent()
        self.transport.end()

    def said(self) -> str:
        """The end of what the agent printed, for a failure."""
        ends = [
            (self.base / name).read_text(errors="replace")[-800:]
            for name in ("out", "err", "server-err")
            if (self.base / name).exists()
        ]
        return "\n".join(ends)

    def messages(self, who: str) -> list[dict[str, Any]]:
        """What the client or the server said so far."""
        return [message for _, message in self._said(who)]

    def _said(self, who: str) -> list[tuple[str, dict[str, Any]]]:
        """The same, each with the session that it belongs to: two of one client number their requests alike."""
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
        """The one that client and server agreed on."""
        for message in self.messages("server"):
            agreed = message.get("result", {}).get("protocolVersion")
            if agreed:
                return str(agreed)
        calls = [message for message in self.messages("client") if message.get("method") == "tools/call"]
        meta = calls[0]["params"].get("_meta", {}) if calls else {}
        return str(meta.get("io.modelcontextprotocol/protocolVersion", "none"))

    def cancelled(self) -> list[Any]:
        """The requests that the client took back."""
        said = self.messages("client")
        told = [
            message["params"]["requestId"] for message in said if message.get("method") == "notifications/cancelled"
        ]
        if self.revision() == WITHOUT_SESSIONS:
            left = self.messages("left")
            told += [message["id"] for message in left if message.get("method") == "tools/call"]
        return told

    def served(self) -> list[Served]:
        """The finished calls, in their order."""
        answers = {(session, m["id"]): m["result"] for session, m in self._said("server") if "result" in m}
        found = []
        for session, message in self._said("client"):
            called = message.get("method") == "tools/call"
            result = answers.get((session, message.get("id")), {}) if called else {}
            if "content" in result:
                # Some clients are told the names with a prefix.
                found.append(served(message["params"]["name"].removeprefix("scorpiox_"), result))
        return found


def served(tool: str, result: dict[str, Any]) -> Served:
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    images = sum(block["type"] == "image" for block in result["content"])
    structured = "structuredContent" in result
    return Served(tool, "\n".join(texts), len(texts), images, bool(result.get("isError")), structured)
