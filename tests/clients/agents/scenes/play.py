"""Plays the steps of a scene to an agent, and checks the content that its model receives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agents.client import Client, Sent
from scenes.exceptions import EXCEPTIONS, OVER_HTTP
from scenes.step import MANY, Failed, Stage, Step, check
from scripted.model import Model
from session import Served, Session
from site_of_tests import Site


@dataclass(frozen=True)
class Outcome:
    """Outcome of one step: `ok`, a known `cannot`, or `FAIL`, with the error or the reason."""

    status: str
    what: str
    why: str = ""


class Play:
    """Decides on the calls of the scripted model."""

    def __init__(self, client: Client, transport: str, steps: list[Step], site: Site) -> None:
        self.client, self.transport, self.site = client, transport, site
        self.stage: Stage | None = None
        # Step of each call so far.
        self.given: list[Step] = []
        # Steps whose call could not be made, with the reason.
        self.trouble: list[tuple[Step, str]] = []
        self._ahead = list(steps)

    def begin(self, session: Session, model: Model) -> None:
        self.stage = Stage(session, self.site, model)

    def next_call(self, done: int) -> tuple[str, dict[str, Any]] | None:
        stage = self.stage
        if stage is None:
            return None
        stage.texts = [self.client.unwrap(result).text for result in stage.model.results]
        last = self.given[-1] if self.given else None
        if last and last.until and last.until not in stage.texts[-1] and self.given.count(last) < MANY:
            self.given.append(last)
            return last.tool, last.asked(stage)
        while self._ahead:
            step = self._ahead.pop(0)
            try:
                if step.before:
                    step.before(stage)
                arguments = step.asked(stage)
            except Exception as error:
                # An error in one step, such as a missing path in the last result, does not end the scene.
                self.trouble.append((step, f"{type(error).__name__}: {error}"))
                continue
            self.given.append(step)
            return step.tool, arguments
        return None

    def of_person(self, what: str, person: Callable[[Session], str]) -> Outcome:
        """Returns the outcome of a scene with a user; a text is a limitation of the client."""
        assert self.stage is not None
        try:
            cannot = person(self.stage.session)
        except AssertionError as error:
            return Outcome("FAIL", what, str(error))
        return Outcome("cannot" if cannot else "ok", what, cannot)

    def outcomes(self, scene: str, relay: bool) -> list[Outcome]:
        """Returns the outcome of each planned step."""
        assert self.stage is not None
        served = self.stage.session.served() if relay else []
        found = [self._revision()] if relay else []
        # A repeated step is judged by its last call.
        ahead = [*self.given[1:], None]
        for step, following, result in zip(self.given, ahead, self.stage.model.results):
            mine = served.pop(0) if served and served[0].tool == step.tool else None
            sent = self.client.unwrap(result)
            if following is not step:
                found.append(self._outcome(scene, step, sent, mine, relay))
        missing = self.given[len(self.stage.model.results) :] + self._ahead
        found += [Outcome("FAIL", step.what, "the model was sent no result") for step in missing]
        return found + [Outcome("FAIL", step.what, why) for step, why in self.trouble]

    def _revision(self) -> Outcome:
        assert self.stage is not None
        spoken, expected = self.stage.session.revision(), self.client.revision
        wrong = "" if spoken == expected else f"it speaks {spoken}"
        return Outcome("FAIL" if wrong else "ok", f"speaks {expected}", wrong)

    def _outcome(self, scene: str, step: Step, sent: Sent, served: Served | None, relay: bool) -> Outcome:
        stage = self.stage
        assert stage is not None
        of = (self.client.name, scene, step.what)
        exception = OVER_HTTP.get(of) if self.transport == "http" else None
        exception = exception or EXCEPTIONS.get(of)
        try:
            if exception:
                exception.instead(stage, sent, served)
                return Outcome("cannot", step.what, exception.why)
            if relay:
                check(step, stage, self.client, sent, served)
            elif not all(part in sent.text for part in step.parts(stage)):
                raise Failed(f"the model was sent: {sent.text}")
            return Outcome("ok", step.what)
        except AssertionError as error:
            return Outcome("FAIL", step.what, str(error))
