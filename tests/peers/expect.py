"""Calls of a plugin, and a user's expectations of the results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Start of the host's own sentence about a refusal.
REFUSED = "This server refused files read"
REFUSED_WRITE = "This server refused files write"
REFUSED_WEB = "This server refused web"

# Placeholder for the host and port of the local web server.
SITE = "SITE"

READS = '\n[capabilities.files]\nread = ["workspace"]\nwhy = "reads the files it is asked about"\n'
WRITES = '\n[capabilities.files]\nwrite = ["workspace"]\nwhy = "works on the files it is asked about"\n'
FETCHES = f'\n[capabilities.web]\nhosts = ["{SITE}"]\nwhy = "asks the service"\n'


@dataclass(frozen=True)
class Call:
    what: str
    tool: str
    arguments: dict[str, Any]
    # Parts that the text contains; a leading `!` marks a part that it must not contain.
    has: list[str]
    succeeds: bool = True


def run(what: str, args: list[str], has: list[str], stdin: str = "", succeeds: bool = True) -> Call:
    """Returns a call of a command-line program."""
    return Call(what, "run", {"args": args, "stdin": stdin}, has, succeeds)


@dataclass(frozen=True)
class Peer:
    name: str
    # Builds the component, unless it exists, in a directory that is reused across runs.
    build: Callable[[Path], Path]
    calls: list[Call] = field(default_factory=list)
    # Lines appended to the draft of `plugin init`.
    manifest: str = ""
    # Expected output of `plugin inspect`, in addition to the statement that the component can be added.
    inspected: list[str] = field(default_factory=list)
    # Secrets that a user sets.
    secrets: dict[str, str] = field(default_factory=dict)
    # Reason with which `plugin inspect` and `plugin add` refuse the component; empty if they accept it.
    refused: str = ""
