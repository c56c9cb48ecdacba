"""Programs of crates.io, and what a user expects of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

# Above what a call holds in memory by default, so that it has to be read in pieces.
BIG_BYTES = 50 << 20

# How the host's own sentence begins.
REFUSED = "This server refused files read"

READS = '\n[capabilities.files]\nread = ["workspace"]\nwhy = "reads the files it is asked about"\n'


@dataclass(frozen=True)
class Call:
    what: str
    args: list[str]
    # Parts that the text has; after `!` one that it has not.
    has: list[str]
    stdin: str = ""
    succeeds: bool = True


@dataclass(frozen=True)
class Peer:
    name: str
    version: str
    # What cargo installs.
    file: str
    calls: list[Call] = field(default_factory=list)
    manifest: str = READS


def fill(workspace: Path) -> None:
    """What the programs are asked about."""
    (workspace / "Grüße.txt").write_text("one\nGrüße an 日本\nthree\n", encoding="utf-8")
    (workspace / "page.html").write_text('<p class="a">first</p><p>second</p>', encoding="utf-8")
    (workspace / "bytes.bin").write_bytes(bytes(range(256)))
    with open(workspace / "big.txt", "wb") as big:
        big.write(b"a line of the big file\n" * (BIG_BYTES // 23))
        big.write(b"the needle\n")


PEERS = [
    Peer(
        "b3sum",
        "1.8.2",
        "b3sum.wasm",
        [
            # WASI 0.2 has no threads, and b3sum starts a pool of them even for `--num-threads 1`.
            Call("says that there are no threads", ["Grüße.txt"], ["Not supported"], succeeds=False),
            Call("prints its help", ["--help"], ["Usage: b3sum"]),
            Call("says that an option is not known", ["--odd"], ["--odd", "Usage"], succeeds=False),
        ],
    ),
    Peer(
        "ripgrep",
        "14.1.1",
        "rg.wasm",
        [
            Call("finds Unicode", ["-n", "Grüße", "Grüße.txt"], ["2:Grüße an 日本"]),
            Call("finds by a class of characters", ["-o", r"\p{Han}+", "Grüße.txt"], ["日本"]),
            Call("finds the last line of 50 MB", ["-n", "needle", "big.txt"], [":the needle"]),
            Call("searches the workspace", ["--sort", "path", "-l", "an|needle"], ["Grüße.txt"]),
            Call("searches standard input", ["b", "-"], ["abc"], stdin="abc\nxyz\n"),
            Call("finds nothing", ["zebra", "Grüße.txt"], ["exit code 1"], succeeds=False),
            Call("says what is wrong with a pattern", ["("], ["unclosed group"], succeeds=False),
            Call("wants a pattern", [], ["requires at least one pattern"], succeeds=False),
            Call("reads nothing outside", ["root", "/etc/passwd"], [f"{REFUSED} /etc", "!root:"], succeeds=False),
        ],
    ),
    Peer(
        "hexyl",
        "0.16.0",
        "hexyl.wasm",
        [
            Call("shows bytes", ["--plain", "bytes.bin"], ["00 01 02", "fc fd fe ff"]),
            Call("shows some of 50 MB", ["--plain", "--length", "8", "big.txt"], ["61 20 6c 69 6e 65 20 6f"]),
            Call("shows standard input", ["--plain"], ["61 62 63"], stdin="abc"),
            Call("says that a file is not there", ["no.bin"], ["No such file"], succeeds=False),
            Call("shows what there is without arguments", [], ["No content"]),
            Call("says that an option is not known", ["--odd"], ["--odd", "Usage"], succeeds=False),
            Call("prints too much of 50 MB", ["big.txt"], ["at most 1048576 are a result"], succeeds=False),
            Call("shows nothing outside", ["/etc/passwd"], [f"{REFUSED} /etc", "!root:"], succeeds=False),
            Call("does not leave the workspace", ["../x"], ["leads out of the folders"], succeeds=False),
        ],
    ),
    Peer(
        "sd",
        "1.0.0",
        "sd.wasm",
        [
            Call("replaces in standard input", ["Grüße", "日本"], ["日本 an"], stdin="Grüße an\n"),
            # It maps files into memory, which WASI does not have.
            Call("cannot work on files", ["one", "1", "Grüße.txt"], ["platform not supported"], succeeds=False),
            Call("says what is wrong with a pattern", ["(", "x"], ["unclosed group"], stdin="a", succeeds=False),
            Call("wants arguments", [], ["Usage"], succeeds=False),
        ],
    ),
]
