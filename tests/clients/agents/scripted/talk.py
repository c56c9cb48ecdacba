"""What a model is sent, and what it answers, whatever the protocol."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Block:
    """A part of what the model is sent: text, or an image with its bytes."""

    kind: str
    text: str = ""
    data: bytes = b""


def text(value: str) -> Block:
    return Block("text", value)


def image(encoded: str) -> Block:
    return Block("image", data=base64.b64decode(encoded))


def blocks(content: Any, encoded: Callable[[Any], str | None]) -> list[Block]:
    """The parts of a message; `encoded` gives the image in one, if it is one."""
    if isinstance(content, str):
        return [text(content)]
    found = []
    for part in content or []:
        if "text" in part:
            found.append(text(part["text"]))
        elif (data := encoded(part)) is not None:
            found.append(image(data))
        else:
            found.append(Block(str(part.get("type") or next(iter(part), "empty")), json.dumps(part)))
    return found


@dataclass
class Result:
    """The result of one call as the model was sent it.

    `failed` is the protocol's own mark of an error. `beside` is what came after it in a message of
    the person's, where some clients put images.
    """

    blocks: list[Block]
    failed: bool = False
    beside: list[Block] = field(default_factory=list)


@dataclass(frozen=True)
class Shown:
    """A tool as the model was told of it."""

    description: str
    schema: Any


@dataclass
class Request:
    """One request to the model: everything so far."""

    tools: dict[str, Shown]
    results: list[Result]
    system: str


@dataclass(frozen=True)
class Call:
    """The model's answer that calls a tool; `number` makes its id."""

    number: int
    name: str
    arguments: dict[str, Any]


# What the model says when the script is at its end.
FAREWELL = "The script is at its end."
