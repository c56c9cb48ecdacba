"""Waits for processes of a run, and ends the remaining ones."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

# Interval between polls in seconds.
LOOK = 0.05


def wait_for(what: Callable[[], object], seconds: float) -> bool:
    """Returns whether the condition became true in time."""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(LOOK)
    return True


def pause(seconds: float) -> None:
    time.sleep(seconds)


def with_word(word: str) -> list[int]:
    """Returns the processes that have this word as an argument."""
    return [pid for pid in pids() if word.encode() in read(pid, "cmdline").split(b"\0")]


def of(home: Path) -> list[int]:
    """Returns all processes of a run, including daemons, by the HOME variable of the run."""
    mark = f"HOME={home}".encode()
    return [pid for pid in pids() if mark in read(pid, "environ").split(b"\0")]


def sweep(home: Path) -> None:
    """Ends every process of a run."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for pid in of(home):
            # The process may exit in between.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sign)
        if wait_for(lambda: not of(home), 3):
            return


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
