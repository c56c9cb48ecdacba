"""Runs an agent on a private screen, with a simulated user."""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from pathlib import Path

import processes
from agents.client import Typed

# Maximum time until a screen shows an expected text, in seconds.
PATIENCE = 40

# Time that a user needs to read new content, in seconds.
READING = 0.7


class Screen:
    """Private tmux terminal; a context manager that closes it."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path, base: Path) -> None:
        # A short path, because the path of a socket is limited to 107 bytes.
        self._tmux = ["tmux", "-f", "/dev/null", "-S", str(base / "tmux")]
        words = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), *command]
        line = f"{shlex.join(words)} 2>{shlex.quote(str(base / 'err'))}"
        self._run("new-session", "-d", "-x", "130", "-y", "45", "-c", str(folder), line)

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *trouble: object) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, timeout=10)

    def _run(self, *words: str) -> str:
        done = subprocess.run([*self._tmux, *words], capture_output=True, text=True, timeout=10, check=True)
        return done.stdout

    def text(self) -> str:
        """Returns the text on the screen, without empty lines."""
        try:
            lines = self._run("capture-pane", "-p").splitlines()
        except subprocess.CalledProcessError:
            return "(the agent has ended)"
        return "\n".join(line.rstrip() for line in lines if line.strip())

    def type(self, typed: Typed) -> None:
        for pattern, keys in typed:
            self._wait_for(pattern)
            # Forms drop keys that arrive faster than a user can read.
            time.sleep(READING)
            for key in keys:
                self._run("send-keys", key)

    def _wait_for(self, pattern: str) -> None:
        if not processes.wait_for(lambda: re.search(pattern, self.text()), PATIENCE):
            raise AssertionError(f"the screen does not show {pattern!r} after {PATIENCE} s:\n{self.text()}")
