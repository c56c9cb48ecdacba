"""Defines how an agent runs, and how it presents tools and results to its model."""

from __future__ import annotations

import copy
import json
import platform
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from scripted.talk import Result, Shown

MODULES = Path(__file__).resolve().parent.parent / "node_modules"

# Prompt that the user sends to the agent.
GO = "Please go on as the script says."

# Dummy key, which the scripted model ignores.
KEY = "not-a-key"


# Input of a user: keys by their tmux names, each group sent when its pattern is on the screen.
Typed = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Place:
    """Directories of one run, and the model's address."""

    home: Path
    workspace: Path
    model: str

    def put(self, path: str, content: Any) -> Path:
        """Writes a file below the home directory; anything but text is written as JSON."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return file


@dataclass
class Sent:
    """Content of one result as the model received it, without the client's wrapping."""

    text: str
    images: list[bytes] = field(default_factory=list)
    # Whether the model can see that it is an error; None if the client does not mark errors.
    failed: bool | None = None


class Client(ABC):
    """Agent under test."""

    # Name in `config` and on the command line.
    name: str
    # Package in node_modules that provides the version.
    package: str
    # Name of the client in the program's `config` command.
    config: str
    # Path below the home directory for an entry whose file `config` does not name.
    own_file: str = ""
    # Protocol revision that it uses with this server.
    revision: str
    # Maximum length in characters of a result that passes unchanged, and of single tools that set it in
    # `_meta`.
    limit: int = 20_000
    limits: ClassVar[dict[str, int]] = {}
    # Maximum length of a result that the server may send, and of single tools.
    budget: int = 20_000
    budgets: ClassVar[dict[str, int]] = {}
    # Client's own tool that finds tools which are not listed at once.
    finder: str = ""
    # True if it waits for a call of 70 seconds, because it requests progress or because of its entry.
    waits: bool = True
    # Input that allows a command to run.
    allowing: Typed = ()
    # Input that cancels a call, and whether the client notifies the server.
    cancelling: Typed = (("", ("Escape",)),)
    tells_of_cancel: bool = True
    # True if running commands end with the client, which ends its calls or the server.
    ends_calls: bool = True
    # Input that answers a form with its first option. Empty if the client has no forms.
    answering: Typed = ()
    # Attributes with a different value over HTTP.
    over_http: ClassVar[dict[str, Any]] = {}

    def over(self, transport: str) -> Client:
        """Returns the client as it behaves over a transport."""
        same = copy.copy(self)
        same.__dict__.update(self.over_http if transport == "http" else {})
        return same

    @abstractmethod
    def program(self) -> list[str]:
        """Returns the command that starts it."""

    @abstractmethod
    def prepare(self, place: Place) -> None:
        """Writes the user's settings: the scripted model, and consent to the tools. They do not include the
        entry of the server."""

    @abstractmethod
    def arguments(self, place: Place) -> list[str]:
        """Returns the arguments of a run without a user."""

    @abstractmethod
    def screen(self, place: Place) -> list[str]:
        """Returns the arguments of a run with a user at a screen."""

    @abstractmethod
    def environment(self, place: Place) -> dict[str, str]:
        """Returns the variables that it needs in addition to HOME and PATH."""

    @abstractmethod
    def shown_as(self, tool: str) -> str:
        """Returns the name under which the model sees a tool of the server."""

    @abstractmethod
    def unwrap(self, result: Result) -> Sent:
        """Extracts the server's result from the client's representation."""

    def exactly(self, tool: str) -> str:
        """Returns the query that makes `finder` return one tool by its name."""
        return f"select:{self.shown_as(tool)}"

    def search(self, tools: dict[str, Shown], wanted: str) -> tuple[str, dict[str, Any]] | None:
        """Returns a call that finds a tool which is not listed yet."""
        return self.search_for(tools, self.exactly(wanted))

    def search_for(self, tools: dict[str, Shown], query: str) -> tuple[str, dict[str, Any]] | None:
        return (self.finder, {"query": query}) if self.finder in tools else None

    def version(self) -> str:
        return str(json.loads((MODULES / self.package / "package.json").read_text())["version"])


def texts(result: Result) -> list[str]:
    return [block.text for block in result.blocks if block.kind == "text"]


def images(result: Result) -> list[bytes]:
    return [block.data for block in result.blocks + result.beside if block.kind == "image"]


def native(package: str, path: str) -> list[str]:
    """Returns the command of a program that a package ships for this machine."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
    return [str(MODULES / package.format(machine=machine) / path.format(vendor=platform.machine()))]


def script(path: str) -> list[str]:
    """Returns the command of a Node program."""
    return ["node", str(MODULES / path)]
