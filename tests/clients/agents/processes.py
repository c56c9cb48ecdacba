"""Processes of a run: waiting for them, and ending what is left."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

# How often something is looked at, in seconds.
LOOK = 0.05


def wait_for(what: Callable[[], object], seconds: float) -> bool:
    """Whether it came true in time."""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(LOOK)
    return True


def pause(seconds: float) -> None:
    time.sleep(seconds)


def with_word(word: str) -> list[int]:
    """The processes that have a word among their arguments."""
    return [pid for pid in pids() if word.encode() in read(pid, "cmdline").split(b"\0")]


def of(home: Path) -> list[int]:
    """Every process of a run, daemons too: those whose HOME is the run's own folder."""
    mark = f"HOME={home}".encode()
    return [pid for pid in pids() if mark in read(pid, "environ").split(b"\0")]


def sweep(home: Path) -> None:
    """Ends every process of a run."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for pid in of(home):
            # It may end by itself meanwhile.
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
