"""The shared table: what the model calls, and what it must have been sent of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agents.client import Client
from scenes import changes, configured, question, restart, search, slow, tools
from scenes.cancel import Cancel
from scenes.step import Step
from scripted.model import Names
from session import Session


@dataclass(frozen=True)
class Acted:
    """A scene for one client: its steps, and what a person does at the screen, if there is one."""

    steps: list[Step]
    what: str = ""
    person: Callable[[Session], str] | None = None
    # How the model looks for tools that it is not shown, if not by their names.
    names: Names | None = None


@dataclass(frozen=True)
class Scene:
    name: str
    acted: Callable[[Client], Acted]
    # Whether what passes between client and server is kept, by a relay between them.
    relay: bool = True
    # Whether the client lists the tools as late as it would by itself.
    late: bool = False
    # Whether most of its time is waiting.
    waits: bool = False
    # The transports that it says something of.
    over: tuple[str, ...] = ("stdio", "http")
    is_for: Callable[[Client], bool] = lambda client: True

    def plays(self, client: Client, transport: str) -> bool:
        return transport in self.over and self.is_for(client)


def cancelled(client: Client) -> Acted:
    cancel = Cancel()
    return Acted(cancel.steps, "a command that the person cancels", cancel.person)


def of(steps: list[Step]) -> Callable[[Client], Acted]:
    return lambda client: Acted(steps)


SCENES = [
    # Over HTTP, `restart` is the one that nothing stands between.
    Scene("configured", of(configured.STEPS), relay=False, over=("stdio",)),
    Scene("tools", of(tools.STEPS)),
    Scene(
        "search",
        lambda client: Acted(search.STEPS, names=search.ByWords(client)),
        late=True,
        # What a client lists at once, and finds, does not depend on how the list came.
        over=("stdio",),
        is_for=lambda client: bool(client.finder),
    ),
    Scene("changes", of(changes.STEPS)),
    Scene("cancel", cancelled),
    Scene(
        "question",
        lambda client: Acted(question.STEPS, "a question that the person answers", question.person),
        is_for=lambda client: bool(client.answering),
    ),
    # A server over standard input and output is its client's: nobody else starts it.
    Scene("restart", of(restart.STEPS), relay=False, over=("http",)),
    Scene("slow", lambda client: Acted(slow.WAITED if client.waits else slow.GONE_ON), waits=True),
]
