"""Plays the scenes to the agents: run.py BINARY [--client NAME] [--scene NAME] [--transport NAME] [--keep FOLDER]

Prints a line for each step: `ok`; `cannot`, with the reason, for a known limitation of a client, which is
verified each time; or `FAIL`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents import CLIENTS
from agents.client import Client
from scenes import SCENES, Scene
from scenes.play import Outcome, Play
from scripted.model import Model
from session import Session
from site_of_tests import Site
from transports import TRANSPORTS

# Maximum time of one scene, in seconds.
PATIENCE = 180

# Number of concurrent scenes, excluding those that wait.
AT_ONCE = 1


class Recorder:
    """Records the agent's requests to the model, for debugging."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "a", buffering=1)

    def __call__(self, path: str, body: Any) -> None:
        self._file.write(json.dumps({"path": path, "body": body}) + "\n")


@dataclass(frozen=True)
class Part:
    """One scene for one agent over one transport."""

    client: Client
    transport: str
    scene: Scene

    def folder(self) -> str:
        return f"{self.client.name}-{self.transport}-{self.scene.name}"


def play(part: Part, binary: Path, base: Path) -> list[Outcome]:
    """Plays a scene and returns the outcome of each step."""
    client, scene = part.client, part.scene
    base.mkdir(parents=True)
    acted = scene.acted(client)
    site = Site()
    script = Play(client, part.transport, acted.steps, site)
    model = Model(acted.names or client, script, Recorder(base / "requests.jsonl"))
    session = None
    try:
        session = Session(
            client, binary, base, model.url, site, transport=part.transport, relay=scene.relay, late=scene.late
        )
        script.begin(session, model)
        if acted.person:
            return [script.of_person(acted.what, acted.person)]
        ended = session.run(PATIENCE)
        outcomes = script.outcomes(scene.name, scene.relay)
    except AssertionError as error:
        return [Outcome("FAIL", scene.name, str(error))]
    finally:
        if session:
            session.end()
        model.close()
        site.close()
    if any(outcome.status == "FAIL" for outcome in outcomes):
        outcomes.append(Outcome("note", f"{ended}; {len(model.tools)} tools shown", session.said()))
    return outcomes


def tell(part: Part, outcomes: list[Outcome]) -> None:
    of = f"{part.client.name:<9} {part.transport:<5} {part.scene.name:<10}"
    for outcome in outcomes:
        why = f": {outcome.why}" if outcome.why else ""
        print(f"{outcome.status:<6} {of} {outcome.what}{why}", flush=True)


def play_all(parts: list[Part], binary: Path, base: Path) -> list[Outcome]:
    """Plays all parts. Scenes that mostly wait run concurrently with the others."""

    def begin(pool: ThreadPoolExecutor, part: Part) -> tuple[Part, Future[list[Outcome]]]:
        return part, pool.submit(play, part, binary, base / part.folder())

    found = []
    with ThreadPoolExecutor(AT_ONCE) as pool, ThreadPoolExecutor(len(CLIENTS)) as beside:
        waiting = [begin(beside, part) for part in parts if part.scene.waits]
        begun = [begin(pool, part) for part in parts if not part.scene.waits] + waiting
        for part, future in begun:
            found += future.result()
            tell(part, future.result())
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=Path)
    parser.add_argument("--client", choices=[client.name for client in CLIENTS])
    parser.add_argument("--scene", choices=[scene.name for scene in SCENES])
    parser.add_argument("--keep", type=Path, help="keep the folders of the runs there")
    parser.add_argument("--transport", choices=[*TRANSPORTS])
    chosen = parser.parse_args()
    parts = [
        Part(client.over(transport), transport, scene)
        for client in CLIENTS
        for transport in TRANSPORTS
        for scene in SCENES
        if chosen.client in (None, client.name)
        and chosen.transport in (None, transport)
        and chosen.scene in (None, scene.name)
        and scene.plays(client, transport)
    ]
    for client in {part.client.name: part.client for part in parts}.values():
        print(f"       {client.name} {client.version()}", flush=True)
    with tempfile.TemporaryDirectory(prefix="agents-", ignore_cleanup_errors=True) as scratch:
        base = (chosen.keep or Path(scratch)).resolve()
        outcomes = play_all(parts, chosen.binary.resolve(), base)
    count = {status: sum(outcome.status == status for outcome in outcomes) for status in ("ok", "cannot", "FAIL")}
    print(f"agents: {count['ok']} passed, {count['cannot']} that the client cannot, {count['FAIL']} failed")
    return count["FAIL"] > 0 or count["ok"] == 0


if __name__ == "__main__":
    sys.exit(main())
