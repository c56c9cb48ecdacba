"""Plays the scenes to the agents: run.py BINARY [--client NAME] [--scene NAME] [--keep FOLDER]

Prints a line for each step: `ok`; `cannot`, with the reason, where a client is known not to be able, which
is measured again; or `FAIL`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from agents import CLIENTS
from agents.client import Client
from scenes import SCENES, Scene
from scenes.play import Outcome, Play
from scripted.model import Model
from session import Session
from site_of_tests import Site

# Longest time of one scene, in seconds.
PATIENCE = 180


class Recorder:
    """Keeps what the agent sent the model, for whoever looks into a failure."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "a", buffering=1)

    def __call__(self, path: str, body: Any) -> None:
        self._file.write(json.dumps({"path": path, "body": body}) + "\n")


def play(client: Client, scene: Scene, binary: Path, base: Path) -> list[Outcome]:
    """One scene to one agent."""
    base.mkdir(parents=True)
    acted = scene.acted(client)
    site = Site()
    script = Play(client, acted.steps, site)
    model = Model(acted.names or client, script, Recorder(base / "requests.jsonl"))
    session = None
    try:
        session = Session(client, binary, base, model.url, site, relay=scene.relay, late=scene.late)
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


def tell(client: Client, scene: Scene, outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        why = f": {outcome.why}" if outcome.why else ""
        print(f"{outcome.status:<6} {client.name:<9} {scene.name:<10} {outcome.what}{why}", flush=True)


def play_all(clients: list[Client], scenes: list[Scene], binary: Path, base: Path) -> list[Outcome]:
    """Scenes that mostly wait play beside the others, which play one after the other."""

    def folder(client: Client, scene: Scene) -> Path:
        return base / f"{client.name}-{scene.name}"

    found = []
    with ThreadPoolExecutor(len(CLIENTS)) as pool:
        waiting = [
            (client, scene, pool.submit(play, client, scene, binary, folder(client, scene)))
            for scene in scenes
            for client in clients
            if scene.waits and scene.is_for(client)
        ]
        for client in clients:
            print(f"       {client.name} {client.version()}", flush=True)
            for scene in scenes:
                if not scene.waits and scene.is_for(client):
                    found.append((client, scene, play(client, scene, binary, folder(client, scene))))
                    tell(*found[-1])
        for client, scene, future in waiting:
            found.append((client, scene, future.result()))
            tell(*found[-1])
    return [outcome for _, _, outcomes in found for outcome in outcomes]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=Path)
    parser.add_argument("--client", choices=[client.name for client in CLIENTS])
    parser.add_argument("--scene", choices=[scene.name for scene in SCENES])
    parser.add_argument("--keep", type=Path, help="keep the folders of the runs there")
    chosen = parser.parse_args()
    clients = [client for client in CLIENTS if chosen.client in (None, client.name)]
    scenes = [scene for scene in SCENES if chosen.scene in (None, scene.name)]
    with tempfile.TemporaryDirectory(prefix="agents-", ignore_cleanup_errors=True) as scratch:
        base = (chosen.keep or Path(scratch)).resolve()
        outcomes = play_all(clients, scenes, chosen.binary.resolve(), base)
    count = {status: sum(outcome.status == status for outcome in outcomes) for status in ("ok", "cannot", "FAIL")}
    print(f"agents: {count['ok']} passed, {count['cannot']} that the client cannot, {count['FAIL']} failed")
    return count["FAIL"] > 0 or count["ok"] == 0


if __name__ == "__main__":
    sys.exit(main())
