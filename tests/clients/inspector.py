"""The Inspector's command line as a client: `inspector.py ERA SESSION_FOLDER`.

It starts the server anew for each request, or over HTTP starts a new session. It cannot cancel, and it
refuses to call tools that are not listed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pictures import CONVERTED, UNTOUCHED, Picture, check_picture
from steps import PLAN_MODE_OFF, QUESTIONS, TOOLS, Session, Steps, contains, equal

PROGRAM = Path(__file__).parent / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"

# Options of the Inspector for each era, and the expected revision.
ERAS = {
    "initialize-2025-11-25": ("legacy", "2025-11-25"),
    "auto": ("auto", "2026-07-28"),
    "discover-2026-07-28": ("modern", "2026-07-28"),
}

# Exit statuses of the Inspector.
DONE = 0
FAILED = 1
TOOL_FAILED = 5

# Maximum time for one request, including the start of both programs, in seconds.
PATIENCE = 30


class Inspector:
    """Runs the Inspector once per request."""

    def __init__(self, era: str, session: Session, served: "Served | None") -> None:
        self.options = ["--cli", "--format", "json", "--quiet", "--protocol-era", era]
        if served:
            header = f"Authorization: Bearer {served.token}"
            self.options += ["--transport", "http", "--server-url", served.url, "--header", header]
        self.target = [] if served else ["--", session.server]
        self.environment = os.environ | {"HOME": str(session.folder / "home")}

    def run(self, method: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = ["node", str(PROGRAM), *self.options, "--method", method, *options, *self.target]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE)

    def lines(self, method: str, *options: str) -> list[Any]:
        """Returns the output of a request that must succeed: one JSON object per line."""
        done = self.run(method, *options)
        if done.returncode != DONE:
            raise AssertionError(f"exit status {done.returncode}: {done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def result(self, method: str, *options: str) -> Any:
        (line,) = self.lines(method, *options)
        return line["result"]

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return self.result("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))


class Served:
    """Server over HTTP."""

    def __init__(self, session: Session) -> None:
        command = [session.server, "serve", "--http", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.url = next(word for word in line.split() if word.startswith("http://")).rstrip(";")
        self.token = (session.folder / "home/.scorpiox/http/token").read_text().strip()

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)


def tasks(inspector: Inspector, action: str, what: str = "") -> str:
    return inspector.call("TaskManager", {"action": action, "query": "", "text": what})["content"][0]["text"]


def ordinary_steps(inspector: Inspector, session: Session, steps: Steps) -> None:
    with steps.step("lists the tools, and finds their schemas valid"):
        equal([tool["name"] for tool in inspector.result("tools/list", "--strict")["tools"]], TOOLS)
    with steps.step("creates a task, adds a step, lists it"):
        tasks(inspector, "create", "write the report")
        tasks(inspector, "add", "find the figures")
        contains(tasks(inspector, "list"), "#1 write the report (0/1 step)")
    with steps.step("reads the plan mode, with structured content"):
        result = inspector.call("PlanMode", {"action": "status"})
        equal(result["content"][0]["text"], "Plan mode is not active.")
        equal(result["structuredContent"], PLAN_MODE_OFF)
    with steps.step("lists the skills as prompts and reads each"):
        equal(sorted(prompt["name"] for prompt in inspector.result("prompts/list")["prompts"]), session.skills)
        for name in session.skills:
            options = ("--prompt-name", name, "--prompt-args", "arguments=Ada Lovelace")
            text = inspector.result("prompts/get", *options)["messages"][0]["content"]["text"]
            contains(text, f'<skill_content name="{name}">', "Ada Lovelace")


def picture_steps(inspector: Inspector, session: Session, steps: Steps) -> None:
    def shown(picture: Picture) -> bytes:
        result = inspector.call("ReadImage", {"file_path": str(session.pictures / picture.name)})
        equal([block["type"] for block in result["content"]], ["text", "image"])
        image = result["content"][1]
        return check_picture(picture, image["mimeType"], image["data"], result["structuredContent"]["sent"])

    with steps.step("shows an image, untouched"):
        equal(shown(UNTOUCHED), (session.pictures / UNTOUCHED.name).read_bytes())
    with steps.step("shows an image that was converted to PNG"):
        shown(CONVERTED)


def wrong_steps(inspector: Inspector, steps: Steps) -> None:
    with steps.step("does not find an unknown tool"):
        done = inspector.run("tools/call", "--tool-name", "NoSuchTool")
        equal((done.returncode, json.loads(done.stderr)["error"]["code"]), (TOOL_FAILED, "tool_not_found"))
    with steps.step("is told what is wrong with arguments: isError"):
        arguments = ("--tool-name", "PlanMode", "--tool-args-json", '{"action":7}')
        done = inspector.run("tools/call", *arguments)
        equal((done.returncode, json.loads(done.stdout)["result"]["isError"]), (TOOL_FAILED, True))
    with steps.step("is given questions as text, without forms of its own"):
        asked = json.dumps({"questions_json": json.dumps(QUESTIONS["ask"])})
        done = inspector.run("tools/call", "--tool-name", "AskUserQuestion", "--tool-args-json", asked)
        result = json.loads(done.stdout)["result"]
        equal((done.returncode, result["isError"]), (TOOL_FAILED, True))
        equal([block["text"] for block in result["content"]], [QUESTIONS["unasked"]["text"]])
    with steps.step("is told that a prompt is unknown"):
        done = inspector.run("prompts/get", "--prompt-name", "no-such-skill")
        equal(done.returncode, FAILED)
        contains(json.loads(done.stderr)["error"]["message"], "no-such-skill")


def skill_steps(inspector: Inspector, session: Session, steps: Steps) -> None:
    with steps.step("reads every file of the skills and finds its digest right"):
        skills = inspector.lines("skills/list", "--verify")
        equal(sorted(skill["name"] for skill in skills), session.skills)
        for skill in skills:
            equal({file["status"] for file in skill["files"]}, {"verified"})


def main() -> None:
    era, folder = sys.argv[1:]
    session = Session(folder)
    steps = Steps("inspector", era)
    option, revision = ERAS[era.removeprefix("http-")]
    served = Served(session) if era.startswith("http-") else None
    inspector = Inspector(option, session, served)
    with steps.step(f"agrees on {revision}"):
        equal(inspector.result("initialize")["protocolVersion"], revision)
    ordinary_steps(inspector, session, steps)
    picture_steps(inspector, session, steps)
    wrong_steps(inspector, steps)
    if revision == "2026-07-28":
        skill_steps(inspector, session, steps)
    if served:
        served.end()
    sys.exit(steps.failed > 0)


main()
