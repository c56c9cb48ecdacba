"""Protocol-independent requests and answers of a model."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Block:
    """Part of a request: a text, or an image with its bytes."""

    kind: str
    text: str = ""
    data: bytes = b""


def text(value: str) -> Block:
    return Block("text", value)


def image(encoded: str) -> Block:
    return Block("image", data=base64.b64decode(encoded))


def blocks(content: Any, encoded: Callable[[Any], str | None]) -> list[Block]:
    """Splits a message into parts; `encoded` returns the base64 image of a part, if it has one."""
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
    """Result of one call as the model received it.

    `failed` is the protocol's error flag. `beside` is content that follows in a user message, in which some
    clients put images.
    """

    blocks: list[Block]
    failed: bool = False
    beside: list[Block] = field(default_factory=list)


@dataclass(frozen=True)
class Shown:
    """Tool as described to the model."""

    description: str
    schema: Any


@dataclass
class Request:
    """Complete request to the model, with the conversation so far."""

    tools: dict[str, Shown]
    results: list[Result]
    system: str


@dataclass(frozen=True)
class Call:
    """Answer of the model that calls a tool; `number` determines its ID."""

    number: int
    name: str
    arguments: dict[str, Any]


# Answer of the model at the end of the script.
FAREWELL = "The script is at its end."
