"""Table of scenes: the model's calls, and the content that the model must receive."""

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
    """Scene for one client: its steps, and the actions of a user at the screen, if any."""

    steps: list[Step]
    what: str = ""
    person: Callable[[Session], str] | None = None
    # Strategy of the model to find unlisted tools, if not by name.
    names: Names | None = None


@dataclass(frozen=True)
class Scene:
    name: str
    acted: Callable[[Client], Acted]
    # True if a relay between client and server records the messages.
    relay: bool = True
    # True if the client lists the tools as late as it does by default.
    late: bool = False
    # True if it mostly waits.
    waits: bool = False
    # Transports that it applies to.
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
    # Over HTTP, `restart` is the scene without a relay.
    Scene("configured", of(configured.STEPS), relay=False, over=("stdio",)),
    Scene("tools", of(tools.STEPS)),
    Scene(
        "search",
        lambda client: Acted(search.STEPS, names=search.ByWords(client)),
        late=True,
        # The transport of the list does not affect the tools that a client lists and finds.
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
    # Over standard input and output, only the client starts the server.
    Scene("restart", of(restart.STEPS), relay=False, over=("http",)),
    Scene("slow", lambda client: Acted(slow.WAITED if client.waits else slow.GONE_ON), waits=True),
]
