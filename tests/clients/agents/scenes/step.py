"""A step of a scene: a call, and the content that the model must receive."""

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

# Maximum number of repetitions of a call.
MANY = 12

Arguments = dict[str, Any]


@dataclass
class Stage:
    """State that steps can access while a scene plays."""

    session: Session
    site: Site
    model: Model
    # Texts of the results so far, without the client's wrapping.
    texts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Step:
    """One call. `what` is its name in the table and in the output."""

    what: str
    tool: str
    arguments: Arguments | Callable[[Stage], Arguments]
    # Parts that must each be in the text exactly once.
    once: tuple[str | Callable[[Stage], str], ...] = ()
    failed: bool = False
    # True for a plugin's tool, whose result has data next to the text.
    data: bool = False
    # File whose bytes the model must receive as an image.
    image: str | None = None
    # Action that happens before, outside of the conversation.
    before: Callable[[Stage], None] | None = None
    # Text until which the call is repeated.
    until: str | None = None

    def parts(self, stage: Stage) -> list[str]:
        return [part(stage) if callable(part) else part for part in self.once]

    def asked(self, stage: Stage) -> Arguments:
        return self.arguments(stage) if callable(self.arguments) else self.arguments


class Failed(AssertionError):
    """Difference between the expected and the actual content."""


def check(step: Step, stage: Stage, client: Client, sent: Sent, served: Served | None) -> None:
    """Checks that the model received the server's result completely and once."""
    if served is None:
        raise Failed(f"the server was not asked; the model was sent: {short(sent.text)}")
    wrong = [*wrong_with_result(step, client, served), *wrong_with_text(step, stage, client, sent, served)]
    wrong += wrong_with_images(step, stage, sent)
    if sent.failed is not None and sent.failed != step.failed:
        wrong.append(f"the client marks it as {'an error' if sent.failed else 'no error'}")
    if wrong:
        raise Failed("; ".join(wrong))


def wrong_with_result(step: Step, client: Client, served: Served) -> Iterator[str]:
    """Yields violations of the limits that apply to every client."""
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
    """Checks a truncated result: the essence at the start, and the status and the path at the end."""
    for end in (served.text[:400], served.text[-400:]):
        if same(end) not in same(sent.text):
            yield f"cut by the client, and {short(end)} is lost: {short(sent.text)}"


def wrong_with_images(step: Step, stage: Stage, sent: Sent) -> Iterator[str]:
    expected = [(stage.session.workspace / step.image).read_bytes()] if step.image else []
    if sent.images != expected:
        yield f"images of {[len(i) for i in sent.images]} bytes, not {[len(i) for i in expected]}"


def same(text: str) -> str:
    """Removes whitespace at the ends of lines, which is irrelevant to a model."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def short(text: str) -> str:
    return repr(text if len(text) < 500 else f"{text[:250]} … {text[-250:]}")


def wait_for_file(name: str, seconds: float = 30) -> Callable[[Stage], None]:
    """Returns a wait for a command to create a file in the workspace."""

    def wait(stage: Stage) -> None:
        if not processes.wait_for((stage.session.workspace / name).exists, seconds):
            raise Failed(f"the command did not make {name} in {seconds:.0f} s")

    return wait


# Red square.
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC"
)
