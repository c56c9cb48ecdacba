"""Programs from crates.io, with a user's expectations of each."""

from __future__ import annotations

from pathlib import Path

from building import program
from expect import READS, REFUSED, Peer, run

# Exceeds the default memory of a call, so the file must be read in pieces.
BIG_BYTES = 50 << 20

PAGE = '<p class="a">first</p><p>second</p>'


def fill(workspace: Path) -> None:
    """Creates the files that the programs process."""
    (workspace / "Grüße.txt").write_text("one\nGrüße an 日本\nthree\n", encoding="utf-8")
    (workspace / "page.html").write_text(PAGE, encoding="utf-8")
    square = '<rect id="red" width="4" height="4" fill="red"/>'
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4">{square}</svg>'
    (workspace / "picture.svg").write_text(picture, encoding="utf-8")
    (workspace / "bytes.bin").write_bytes(bytes(range(256)))
    with open(workspace / "big.txt", "wb") as big:
        big.write(b"a line of the big file\n" * (BIG_BYTES // 23))
        big.write(b"the needle\n")


INSPECTED = ["takes args (a list of strings) and stdin (a string)"]

PROGRAMS = [
    Peer(
        "b3sum",
        program("b3sum", "1.8.2", "b3sum.wasm"),
        [
            # WASI 0.2 has no threads, and b3sum starts a thread pool even for `--num-threads 1`.
            run("says that there are no threads", ["Grüße.txt"], ["Not supported"], succeeds=False),
            run("prints its help", ["--help"], ["Usage: b3sum"]),
            run("says that an option is not known", ["--odd"], ["--odd", "Usage"], succeeds=False),
        ],
        READS,
        INSPECTED,
    ),
    Peer(
        "ripgrep",
        program("ripgrep", "14.1.1", "rg.wasm"),
        [
            run("finds Unicode", ["-n", "Grüße", "Grüße.txt"], ["2:Grüße an 日本"]),
            run("finds by a class of characters", ["-o", r"\p{Han}+", "Grüße.txt"], ["日本"]),
            run("finds the last line of 50 MB", ["-n", "needle", "big.txt"], [":the needle"]),
            run("searches the workspace", ["--sort", "path", "-l", "an|needle"], ["Grüße.txt"]),
            run("searches standard input", ["b", "-"], ["abc"], stdin="abc\nxyz\n"),
            run("finds nothing", ["zebra", "Grüße.txt"], ["an exit code other than 0"], succeeds=False),
            run("says what is wrong with a pattern", ["("], ["unclosed group"], succeeds=False),
            run("wants a pattern", [], ["requires at least one pattern"], succeeds=False),
            run("searches no folder outside", ["root", "/etc"], [f"{REFUSED} /etc: it has only"], succeeds=False),
            run("reads nothing outside", ["root", "/etc/passwd"], [f"{REFUSED} /etc/passwd:", "!root:"], succeeds=False),
        ],
        READS,
        INSPECTED,
    ),
    Peer(
        "hexyl",
        program("hexyl", "0.16.0", "hexyl.wasm"),
        [
            run("shows bytes", ["--plain", "bytes.bin"], ["00 01 02", "fc fd fe ff"]),
            run("shows some of 50 MB", ["--plain", "--length", "8", "big.txt"], ["61 20 6c 69 6e 65 20 6f"]),
            run("shows standard input", ["--plain"], ["61 62 63"], stdin="abc"),
            run("says that a file is not there", ["no.bin"], ["No such file"], succeeds=False),
            run("shows what there is without arguments", [], ["No content"]),
            run("says that an option is not known", ["--odd"], ["--odd", "Usage"], succeeds=False),
            run("keeps both ends of what it shows of 50 MB", ["big.txt"], ["00000000", "left out", "`output_kib`"]),
            run("shows nothing outside", ["/etc/passwd"], [f"{REFUSED} /etc/passwd:", "!root:"], succeeds=False),
            run("does not leave the workspace", ["../x"], [f"{REFUSED} ../x: the path leads out"], succeeds=False),
        ],
        READS,
        INSPECTED,
    ),
    Peer(
        "sd",
        program("sd", "1.0.0", "sd.wasm"),
        [
            run("replaces in standard input", ["Grüße", "日本"], ["日本 an"], stdin="Grüße an\n"),
            # The program maps files into memory, which WASI does not support.
            run("cannot work on files", ["one", "1", "Grüße.txt"], ["platform not supported"], succeeds=False),
            run("says what is wrong with a pattern", ["(", "x"], ["unclosed group"], stdin="a", succeeds=False),
            run("wants arguments", [], ["Usage"], succeeds=False),
        ],
        READS,
        INSPECTED,
    ),
    Peer(
        "htmlq",
        program("htmlq", "0.4.0", "htmlq.wasm"),
        [
            run("finds by a selector", ["p.a", "--text"], ["first", "!second"], stdin=PAGE),
            run("reads a file", ["--filename", "page.html", "p", "--text"], ["first", "second"]),
            run("gives attributes", ["p", "--attribute", "class"], ["a"], stdin=PAGE),
            run("finds nothing", ["table"], ["Done."], stdin=PAGE),
            run("says that a file is not there", ["--filename", "no.html", "p"], ["No such file"], succeeds=False),
            run(
                "reads nothing outside",
                ["--filename", "/etc/passwd", "p"],
                [f"{REFUSED} /etc/passwd:", "!root:"],
                succeeds=False,
            ),
        ],
        READS,
        INSPECTED,
    ),
]
