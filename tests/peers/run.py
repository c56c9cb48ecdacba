"""Builds third-party components and checks their behavior: run.py BINARY FOLDER [NAME...]

Prints a line for each expectation: `ok`, or `FAILED` with a reason.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from components import COMPONENTS
from expect import SITE, Call, Peer
from programs import PROGRAMS, fill
from server import Place, Server
from web import Web

PEERS = PROGRAMS + COMPONENTS


def expect(call: Call, answer: tuple[bool, str], site: str) -> None:
    succeeded, text = answer
    shown = text if len(text) < 1000 else f"{text[:1000]}…"
    assert succeeded == call.succeeds, f"{'succeeded' if succeeded else 'failed'}: {shown}"
    for part in (part.replace(SITE, site) for part in call.has):
        if part.startswith("!"):
            assert part[1:] not in text, f"{part[1:]!r} is in: {shown}"
        else:
            assert part in text, f"{part!r} is not in: {shown}"


class Results:
    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0

    def tell(self, peer: Peer, what: str, why: str = "") -> None:
        status = "FAILED" if why else "ok"
        self.passed += not why
        self.failed += bool(why)
        print(f"{status:<6} {peer.name:<16} {what}{f': {why}' if why else ''}", flush=True)


def install(peer: Peer, component: Path, place: Place, site: str) -> None:
    """Turns a file into an approved plugin, like a user."""
    inspected = " ".join(place.done("plugin", "inspect", str(component)).split())
    for part in ["scorpiox-code plugin add", *peer.inspected]:
        assert part in inspected, f"{part!r} is not in: {inspected}"
    place.install(component, peer.name, peer.manifest.replace(SITE, site))
    for key, value in peer.secrets.items():
        place.done("plugin", "secret", "set", peer.name, key, given=value)


def refuse(peer: Peer, component: Path, place: Place) -> None:
    """Checks that a component that cannot run is refused with the reason."""
    inspected = " ".join(place.done("plugin", "inspect", str(component)).split())
    for part in [peer.refused, *peer.inspected]:
        assert part in inspected, f"{part!r} is not in: {inspected}"
    added = place.run("plugin", "add", str(component), "--name", peer.name)
    assert added.returncode != 0 and peer.refused in added.stderr, f"{added.stdout}{added.stderr}"


def play(peer: Peer, binary: Path, folder: Path, base: Path, site: str, results: Results) -> None:
    what = "is built"
    try:
        component = peer.build(folder)
        results.tell(peer, what)
        place = Place(binary, base)
        fill(place.workspace)
        if peer.refused:
            what = "is refused with the reason"
            refuse(peer, component, place)
            results.tell(peer, what)
            return
        what = "is inspected, drafted and added"
        install(peer, component, place, site)
        results.tell(peer, what)
        what = "is a tool"
        with Server(place) as server:
            known = server.tools()
            for call in peer.calls:
                assert f"{peer.name}.{call.tool}" in known, known
            results.tell(peer, what)
            for call in peer.calls:
                what = call.what
                arguments = json.loads(json.dumps(call.arguments).replace(SITE, site))
                try:
                    expect(call, server.call(f"{peer.name}.{call.tool}", arguments), site)
                except AssertionError as error:
                    results.tell(peer, what, str(error))
                else:
                    results.tell(peer, what)
    except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
        results.tell(peer, what, str(error) or repr(error))


def main() -> int:
    names = [peer.name for peer in PEERS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=Path)
    parser.add_argument("folder", type=Path, help="what is built is kept there")
    parser.add_argument("name", nargs="*", help=f"some of {', '.join(names)}; all if absent")
    chosen = parser.parse_args()
    unknown = set(chosen.name) - set(names)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))} is none of {', '.join(names)}")
    results, web = Results(), Web()
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as scratch:
        for peer in PEERS:
            if not chosen.name or peer.name in chosen.name:
                base = Path(scratch).resolve() / peer.name
                play(peer, chosen.binary, chosen.folder, base, web.authority, results)
    web.close()
    print(f"peers: {results.passed} passed, {results.failed} failed")
    return results.failed > 0 or results.passed == 0


if __name__ == "__main__":
    sys.exit(main())
