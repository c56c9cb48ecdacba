"""Known limitations of clients, each with its reason and a check of the actual behavior.

If a newer version of a client overcomes a limitation, its step fails here, and the entry must be removed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agents.client import Sent
from scenes.restart import AWAY
from scenes.step import Failed, Stage, same, short
from session import Served

Instead = Callable[[Stage, Sent, Served | None], None]


@dataclass(frozen=True)
class Cannot:
    why: str
    instead: Instead


def unknown_to_the_client(stage: Stage, sent: Sent, served: Served | None) -> None:
    """The new tool is not listed, and a call of it does not reach the server."""
    name = stage.session.client.shown_as("kinds.divide")
    if served is not None or name in stage.model.tools:
        raise Failed(f"the client does know the new tool: {short(sent.text)}")


def told_of_the_image(stage: Stage, sent: Sent, served: Served | None) -> None:
    """The server omits the base64 that the model would read as text, and explains the omission."""
    if served is None or served.images or sent.images or "is left out" not in sent.text:
        raise Failed(f"the model was sent {len(sent.images)} images and {short(sent.text)}")


def keeps_the_image(stage: Stage, sent: Sent, served: Served | None) -> None:
    """The server sends the image, but only the text reaches the model."""
    if served is None or served.images != 1 or sent.images or same(sent.text) != same(served.text):
        raise Failed(f"the model was sent {len(sent.images)} images and {short(sent.text)}")


def given_up(stage: Stage, sent: Sent, served: Served | None) -> None:
    """The client has lost all tools of the server and reports it."""
    if "MCP tool catalog changed" not in sent.text and "does not exist" not in sent.text:
        raise Failed(f"the client does call: {short(sent.text)}")


GIVES_UP = "knows no tools of a server any more that was away"

IMAGE = ("tools", "an image")
NEW_TOOL = ("changes", "a tool that is new")

EXCEPTIONS: dict[tuple[str, str, str], Cannot] = {
    ("copilot", *IMAGE): Cannot("hands no image of a tool on to a model of one's own", keeps_the_image),
    ("continue", *IMAGE): Cannot("shows images as base64 in the text", told_of_the_image),
    ("cline", *IMAGE): Cannot("shows images as base64 in the text", told_of_the_image),
    ("codex", *NEW_TOOL): Cannot("lists tools once a turn", unknown_to_the_client),
    ("qwen", *NEW_TOOL): Cannot("lists tools once a conversation", unknown_to_the_client),
    ("continue", *NEW_TOOL): Cannot("lists tools once a conversation", unknown_to_the_client),
    ("cline", *NEW_TOOL): Cannot("lists tools once a conversation", unknown_to_the_client),
}

# Limitations over HTTP only.
OVER_HTTP: dict[tuple[str, str, str], Cannot] = {
    ("copilot", "restart", f"a call after the server was away for {AWAY} s"): Cannot(GIVES_UP, given_up),
    ("copilot", "restart", "the task is there"): Cannot(GIVES_UP, given_up),
}
