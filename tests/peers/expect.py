"""What is asked of a plugin, and what a user expects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# How the host's own sentence begins.
REFUSED = "This server refused files read"
REFUSED_WRITE = "This server refused files write"
REFUSED_WEB = "This server refused web"

# Stands for the host and port of the web server of these tests.
SITE = "SITE"

READS = '\n[capabilities.files]\nread = ["workspace"]\nwhy = "reads the files it is asked about"\n'
WRITES = '\n[capabilities.files]\nwrite = ["workspace"]\nwhy = "works on the files it is asked about"\n'
FETCHES = f'\n[capabilities.web]\nhosts = ["{SITE}"]\nwhy = "asks the service"\n'


@dataclass(frozen=True)
class Call:
    what: str
    tool: str
    arguments: dict[str, Any]
    # Parts that the text has; after `!` one that it has not.
    has: list[str]
    succeeds: bool = True


def run(what: str, args: list[str], has: list[str], stdin: str = "", succeeds: bool = True) -> Call:
    """Of an ordinary program."""
    return Call(what, "run", {"args": args, "stdin": stdin}, has, succeeds)


@dataclass(frozen=True)
class Peer:
    name: str
    # Makes the component, where it is not there, in a folder that is kept from run to run.
    build: Callable[[Path], Path]
    calls: list[Call] = field(default_factory=list)
    # Behind what `plugin init` drafts.
    manifest: str = ""
    # What `plugin inspect` says, beside that it can be added.
    inspected: list[str] = field(default_factory=list)
    # What a person sets.
    secrets: dict[str, str] = field(default_factory=dict)
