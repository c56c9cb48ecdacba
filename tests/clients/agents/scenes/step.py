"""A step of a scene: a call, and what the model must have been sent of it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import processes
from agents.client import Client, Sent
from scripted.model import Model
from session import Served, Session
from site_of_tests import Site

# How often a call is repeated until something came, at the most.
MANY = 12

Arguments = dict[str, Any]


@dataclass
class Stage:
    """What steps can look at while a scene plays."""

    session: Session
    site: Site
    model: Model
    # The texts of the results so far, without what the client wraps them in.
    texts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Step:
    """One call. `what` names it, in the table and in the output."""

    what: str
    tool: str
    arguments: Arguments | Callable[[Stage], Arguments]
    # Each must be in the text exactly once.
    once: tuple[str | Callable[[Stage], str], ...] = ()
    failed: bool = False
    # Whether the tool is a plugin's, which gives data beside the text.
    data: bool = False
    # The file whose bytes the model must be shown.
    image: str | None = None
    # What happens on the person's side before.
    before: Callable[[Stage], None] | None = None
    # Repeated until this is in the text.
    until: str | None = None

    def parts(self, stage: Stage) -> list[str]:
        return [part(stage) if callable(part) else part for part in self.once]

    def asked(self, stage: Stage) -> Arguments:
        return self.arguments(stage) if callable(self.arguments) else self.arguments


class Failed(AssertionError):
    """What was expected, and what came."""


def check(step: Step, stage: Stage, client: Client, sent: Sent, served: Served | None) -> None:
    """Whether the model was sent what the server said, whole, and once."""
    if served is None:
        raise Failed(f"the server was not asked; the model was sent: {short(sent.text)}")
    wrong = [*wrong_with_result(step, client, served), *wrong_with_text(step, stage, client, sent, served)]
    wrong += wrong_with_images(step, stage, sent)
    if sent.failed is not None and sent.failed != step.failed:
        wrong.append(f"the client marks it as {'an error' if sent.failed else 'no error'}")
    if wrong:
        raise Failed("; ".join(wrong))


def wrong_with_result(step: Step, client: Client, served: Served) -> Iterator[str]:
    """What every client needs of the server."""
    if len(served.text) > client.budgets.get(served.tool, client.budget):
        yield f"the server's result has {len(served.text)} characters"
    if served.structured and not step.data:
        yield "the result has structuredContent, which some clients show in place of the text"
    if served.blocks != 1:
        yield f"the result has {served.blocks} texts, which some clients join with nothing between"
    if served.failed != step.failed:
        yield f"isError is {served.failed}: {short(served.text)}"


def wrong_with_text(step: Step, stage: Stage, client: Client, sent: Sent, served: Served) -> Iterator[str]:
    if len(served.text) > client.limits.get(served.tool, client.limit):
        yield from lost_ends(sent, served)
        return
    if same(sent.text) != same(served.text) and not step.data:
        yield f"the server said {short(served.text)}, the model was sent {short(sent.text)}"
    for part in step.parts(stage):
        if sent.text.count(part) != 1 and not (step.data and part in sent.text):
            yield f"{part!r} comes {sent.text.count(part)} times: {short(sent.text)}"


def lost_ends(sent: Sent, served: Served) -> Iterator[str]:
    """Of what the client cuts: the essence at the beginning, status and path at the end."""
    for end in (served.text[:400], served.text[-400:]):
        if same(end) not in same(sent.text):
            yield f"cut by the client, and {short(end)} is lost: {short(sent.text)}"


def wrong_with_images(step: Step, stage: Stage, sent: Sent) -> Iterator[str]:
    expected = [(stage.session.workspace / step.image).read_bytes()] if step.image else []
    if sent.images != expected:
        yield f"images of {[len(i) for i in sent.images]} bytes, not {[len(i) for i in expected]}"


def same(text: str) -> str:
    """Room at the ends of lines is nothing that a model reads."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def short(text: str) -> str:
    return repr(text if len(text) < 500 else f"{text[:250]} … {text[-250:]}")


def wait_for_file(name: str, seconds: float = 30) -> Callable[[Stage], None]:
    """Until a command has made a file in the workspace."""

    def wait(stage: Stage) -> None:
        if not processes.wait_for((stage.session.workspace / name).exists, seconds):
            raise Failed(f"the command did not make {name} in {seconds:.0f} s")

    return wait


# A red square.
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC"
)
