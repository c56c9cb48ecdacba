"""What an agent needs to run, and what it makes of tools and results."""

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

# What the person says to the agent.
GO = "Please go on as the script says."

# The key that the scripted model does not look at.
KEY = "not-a-key"


# What a person types: keys, as tmux names them, each time when a pattern is on the screen.
Typed = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Place:
    """The folders of one run, and the model's address."""

    home: Path
    workspace: Path
    model: str

    def put(self, path: str, content: Any) -> Path:
        """Writes a file below the home folder; what is no text, as JSON."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return file


@dataclass
class Sent:
    """What the model was sent of one result, without what the client wraps it in."""

    text: str
    images: list[bytes] = field(default_factory=list)
    # Whether the model can see that it is an error; None where the client has no mark for it.
    failed: bool | None = None


class Client(ABC):
    """One agent."""

    # As `config` and the command line name it.
    name: str
    # The package of node_modules that the version is read from.
    package: str
    # What `config` of the program calls it.
    config: str
    # Below the home folder: where the person puts an entry whose file `config` does not name.
    own_file: str = ""
    # The revision that it speaks with this server.
    revision: str
    # The longest result in characters that passes whole, and of single tools that say so in `_meta`.
    limit: int = 20_000
    limits: ClassVar[dict[str, int]] = {}
    # The most that the server may give it in one result, and of single tools.
    budget: int = 20_000
    budgets: ClassVar[dict[str, int]] = {}
    # Its own tool that finds tools which are not shown at once.
    finder: str = ""
    # Whether it waits for a call of 70 seconds: as it asks for progress, or as its entry says.
    waits: bool = True
    # What a person does at the screen until a command runs.
    allowing: Typed = ()
    # What a person does to cancel, and whether the server is told.
    cancelling: Typed = (("", ("Escape",)),)
    tells_of_cancel: bool = True
    # Whether what runs ends with the client: as it ends its calls then, or the server.
    ends_calls: bool = True
    # How a person answers a form with its first choice. Empty where there are no forms.
    answering: Typed = ()
    # Which of all these are otherwise over HTTP.
    over_http: ClassVar[dict[str, Any]] = {}

    def over(self, transport: str) -> Client:
        """The client as it is over a transport."""
        same = copy.copy(self)
        same.__dict__.update(self.over_http if transport == "http" else {})
        return same

    @abstractmethod
    def program(self) -> list[str]:
        """The command that starts it."""

    @abstractmethod
    def prepare(self, place: Place) -> None:
        """Writes the person's settings: the scripted model, and consent to the tools. The entry of the
        server is not among them."""

    @abstractmethod
    def arguments(self, place: Place) -> list[str]:
        """For one run without a person."""

    @abstractmethod
    def screen(self, place: Place) -> list[str]:
        """For a run with a person at a screen."""

    @abstractmethod
    def environment(self, place: Place) -> dict[str, str]:
        """What it needs beside HOME and PATH."""

    @abstractmethod
    def shown_as(self, tool: str) -> str:
        """The name under which the model is shown a tool of the server."""

    @abstractmethod
    def unwrap(self, result: Result) -> Sent:
        """What the server said, out of what the client made of it."""

    def exactly(self, tool: str) -> str:
        """What `finder` is asked for one tool by its name."""
        return f"select:{self.shown_as(tool)}"

    def search(self, tools: dict[str, Shown], wanted: str) -> tuple[str, dict[str, Any]] | None:
        """A call that finds a tool which is not shown yet."""
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
    """A program that a package ships for this machine."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
    return [str(MODULES / package.format(machine=machine) / path.format(vendor=platform.machine()))]


def script(path: str) -> list[str]:
    """A program for Node."""
    return ["node", str(MODULES / path)]
