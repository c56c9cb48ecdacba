"""Connections between an agent and the server: the agent starts it, or uses its address."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import processes
from relay_http import Relay

if TYPE_CHECKING:
    from session import Session

HERE = Path(__file__).resolve().parent

# Line that the server prints when it is ready.
SERVING = re.compile(r" at http://127\.0\.0\.1:(\d+)/mcp;")

# Maximum time for the server to start or to stop, in seconds.
PATIENCE = 20


class Transport(ABC):
    """Transport of a run, with its resources."""

    name: ClassVar[str]

    def __init__(self, session: Session, log: Path | None) -> None:
        self.session = session
        # Path of the log of messages, if any.
        self.log = log

    @abstractmethod
    def enter(self) -> Path:
        """Writes the program's own entry into the client's file, and returns the file."""

    def restart(self, how: signal.Signals, pause: float) -> None:
        """Stops the server, and starts it again after a pause."""
        raise AssertionError(f"nobody but the client can start a server over {self.name} again")

    def end(self) -> None:
        """Ends the processes of the run other than the agent."""


class Stdio(Transport):
    """The agent starts the server, which ends with it."""

    name = "stdio"

    def enter(self) -> Path:
        session = self.session
        done = session.program("config", session.client.config, "--write")
        if done.returncode != 0:
            raise AssertionError(f"config {session.client.config} --write: {done.stderr}")
        file = Path(done.stdout.split(" (before")[0].split(" ", 1)[1].strip())
        if self.log:
            file.write_text(file.read_text().replace(str(session.binary), str(self._front(self.log))))
        return file

    def _front(self, log: Path) -> Path:
        """Creates a program that starts the server behind the relay."""
        front = self.session.base / "server"
        words = [sys.executable, str(HERE / "relay.py"), str(log), str(self.session.binary)]
        front.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        front.chmod(0o755)
        return front


class Http(Transport):
    """A separate server with an address, to which the agent shows a token."""

    name = "http"

    def __init__(self, session: Session, log: Path | None) -> None:
        super().__init__(session, log)
        # Not the agent's home, which identifies the agent's processes.
        self._home = session.base / "server"
        self._home.mkdir()
        self._server, self._port = self._start(0)
        self._relay = Relay(self._port, log) if log else None

    def enter(self) -> Path:
        """Writes the entry like a user who follows the instructions."""
        session = self.session
        address = self._relay.address if self._relay else f"127.0.0.1:{self._port}"
        done = session.program("config", session.client.config, "--http", address)
        if done.returncode != 0:
            raise AssertionError(f"config {session.client.config} --http: {done.stderr}")
        named = re.match(r"Put this into (/\S+),", done.stderr)
        file = Path(named[1]) if named else session.home / session.client.own_file
        put_in(file, done.stdout)
        return file

    def restart(self, how: signal.Signals, pause: float) -> None:
        self._server.send_signal(how)
        self._server.wait(PATIENCE)
        # The client may make calls during the pause.
        processes.pause(pause)
        self._server, _ = self._start(self._port)

    def end(self) -> None:
        if self._relay:
            self._relay.close()
        processes.sweep(self._home)
        self._server.wait(PATIENCE)

    def _start(self, port: int) -> tuple[subprocess.Popen[bytes], int]:
        """Starts a server and returns it with its port."""
        session = self.session
        environment = {"HOME": str(self._home), "SCORPIOX_HOME": str(session.home / ".scorpiox")}
        environment |= {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "SCORPIOX_LOG": "info"}
        out, err = session.base / "served", session.base / "server-err"
        with open(out, "wb") as said, open(err, "ab") as noted:
            server = subprocess.Popen(
                [str(session.binary), "serve", "--http", f"127.0.0.1:{port}"],
                env=environment,
                cwd=session.workspace,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=noted,
                start_new_session=True,
            )
        if not processes.wait_for(lambda: SERVING.search(out.read_text()) or server.poll() is not None, PATIENCE):
            processes.sweep(self._home)
            raise AssertionError(f"the server does not serve after {PATIENCE} s")
        serving = SERVING.search(out.read_text())
        if not serving:
            raise AssertionError(f"the server does not serve: {err.read_text()}")
        return server, int(serving[1])


def put_in(file: Path, entry: str) -> None:
    """Adds an entry to a client's file, in the file's own format."""
    file.parent.mkdir(parents=True, exist_ok=True)
    there = file.read_text() if file.exists() else ""
    if file.suffix == ".json":
        settings: dict[str, Any] = json.loads(there or "{}")
        for name, value in json.loads(entry).items():
            settings[name] = settings.get(name, {}) | value
        file.write_text(json.dumps(settings, indent=2))
    else:
        file.write_text(f"{there}\n{entry}")


TRANSPORTS: dict[str, type[Transport]] = {transport.name: transport for transport in (Stdio, Http)}
