"""Builds the programs and asks them: run.py BINARY FOLDER [NAME...]

Prints a line for each expectation: `ok`, or `FAILED` with a reason.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from programs import PEERS, Call, Peer, fill
from server import Place, Server

# Longest time to build one program, in seconds: two slow cores and a cold registry.
BUILD_SECONDS = 1800

# Compiles what only a compiler of unstable features compiles otherwise.
COMPILER = Path(__file__).resolve().parent / "rustc.sh"


def built(peer: Peer, folder: Path) -> Path:
    """The component, which cargo makes once of each version."""
    root = folder / f"{peer.name}-{peer.version}"
    component = root / "bin" / peer.file
    if not component.exists():
        words = ["cargo", "install", "--quiet", "--locked", "--target", "wasm32-wasip2"]
        words += ["--target-dir", str(folder / "target"), "--root", str(root), f"{peer.name}@{peer.version}"]
        environment = os.environ | {"RUSTC_WRAPPER": str(COMPILER)}
        made = subprocess.run(
            words, env=environment, capture_output=True, encoding="utf-8", timeout=BUILD_SECONDS
        )
        assert made.returncode == 0, f"cargo install: {made.stderr[-2000:]}"
    return component


def expect(call: Call, answer: tuple[bool, str]) -> None:
    succeeded, text = answer
    shown = text if len(text) < 1000 else f"{text[:1000]}…"
    assert succeeded == call.succeeds, f"{'succeeded' if succeeded else 'failed'}: {shown}"
    for part in call.has:
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
        print(f"{status:<6} {peer.name:<9} {what}{f': {why}' if why else ''}", flush=True)


def play(peer: Peer, binary: Path, folder: Path, base: Path, results: Results) -> None:
    what = "is built"
    try:
        component = built(peer, folder)
        results.tell(peer, what)
        place = Place(binary, base)
        fill(place.workspace)
        what = "is inspected, drafted and added"
        assert "scorpiox-code plugin add" in place.done("plugin", "inspect", str(component))
        place.install(component, peer.name, peer.manifest)
        results.tell(peer, what)
        what = "is a tool"
        with Server(place) as server:
            tool = f"{peer.name}.run"
            assert tool in server.tools(), server.tools()
            results.tell(peer, what)
            for call in peer.calls:
                what = call.what
                try:
                    expect(call, server.call(tool, {"args": call.args, "stdin": call.stdin}))
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
    results = Results()
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as scratch:
        for peer in PEERS:
            if not chosen.name or peer.name in chosen.name:
                play(peer, chosen.binary, chosen.folder, Path(scratch).resolve() / peer.name, results)
    print(f"peers: {results.passed} passed, {results.failed} failed")
    return results.failed > 0 or results.passed == 0


if __name__ == "__main__":
    sys.exit(main())
