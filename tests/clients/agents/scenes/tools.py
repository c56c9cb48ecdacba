"""Every tool, and every kind of result."""

from __future__ import annotations

import json
import re

from scenes.step import PICTURE, Failed, Stage, Step, wait_for_file

QUESTION = {"questions": [{"text": "Which colour?", "options": ["Red", "Blue"]}]}

# 200 KB.
MUCH = "for i in $(seq 1 2000); do printf 'line %06d %088d\\n' $i 0; done; echo BIG-END"


def put_picture(stage: Stage) -> None:
    (stage.session.workspace / "red.png").write_bytes(PICTURE)


def found(pattern: str, stage: Stage) -> str:
    """Extracts a value from the last result that the model received."""
    match = re.search(pattern, stage.texts[-1])
    if not match:
        raise Failed(f"the last result has nothing like {pattern}")
    return match[1]


def last_page(stage: Stage) -> dict[str, str]:
    page = found("Page 1 of ([0-9]+)", stage)
    return {"url": f"{stage.site.url}/long#page={page}"}


def whole_output(stage: Stage) -> dict[str, str]:
    path = found(r"(/\S+/output\S*[.]txt)", stage)
    return {"command": f"tail -n 1 {path}"}


def workspace(stage: Stage) -> str:
    return str(stage.session.workspace)


STEPS = [
    Step("a command", "Bash", {"command": "pwd; echo SAID"}, (workspace, "SAID", "exit code 0")),
    Step(
        "a command that fails", "Bash", {"command": "echo OUT; echo ERR >&2; exit 3"}, ("OUT", "ERR", "exit code 3")
    ),
    Step("an error", "ReadImage", {"file_path": "/nothing/here.png"}, ("/nothing/here.png",), failed=True),
    Step(
        "a page",
        "ReadDocs",
        lambda s: {"url": f"{s.site.url}/short"},
        ("Short page begins here.", "Short page ends here."),
    ),
    Step(
        "a long page", "ReadDocs", lambda s: {"url": f"{s.site.url}/long"}, ("Long page begins here.", "Page 1 of ")
    ),
    Step("its last part", "ReadDocs", last_page, ("Long page ends here.",)),
    Step(
        "an image",
        "ReadImage",
        lambda s: {"file_path": str(s.session.workspace / "red.png")},
        ("8 × 8",),
        image="red.png",
        before=put_picture,
    ),
    Step("a search", "WebSearch", {"query": "anything"}, ("The found page", "https://found.example.com/")),
    Step(
        "a task",
        "TaskManager",
        {"action": "create", "query": "", "text": "Write the report"},
        ("Write the report",),
    ),
    Step(
        "a step of it",
        "TaskManager",
        {"action": "add", "query": "", "text": "Find the figures"},
        ("Find the figures",),
    ),
    Step("the tasks", "TaskManager", {"action": "list", "query": ""}, ("Write the report", "0/1 step")),
    Step("a plan begins", "PlanMode", {"action": "enter", "goal": "The goal"}, ("Plan mode is active", "The goal")),
    Step(
        "a command with the plan's note",
        "Bash",
        {"command": "touch x"},
        ("Read-only file system", "exit code 1", "Plan mode is active"),
    ),
    Step("the plan ends", "PlanMode", {"action": "exit"}, ("Plan mode ended",)),
    Step("a search of skills", "SearchSkills", {"pattern": "number 42$"}, ("more-042", "Has the number 42")),
    Step("a skill", "InvokeSkill", {"skill_name": "hello", "arguments": "Ada"}, ("HELLO-SKILL-BODY to Ada.",)),
    Step(
        "a command in the background",
        "BackgroundBash",
        {"command": "echo BEHIND; touch began; sleep 600"},
        ("task 1",),
    ),
    Step("what it said", "ReadBgOutput", {"task_id": 1}, ("BEHIND", "running"), before=wait_for_file("began")),
    Step("the commands in the background", "ListBgTasks", {}, ("echo BEHIND; touch began; sleep 600", "running")),
    Step("its end", "KillBgTask", {"task_id": 1}, ("task 1",)),
    Step(
        "a callback is set",
        "SetCallback",
        {"action": "set", "message": "LOOK-AGAIN", "delay_seconds": 1, "repeat_count": 1},
        ("1s",),
    ),
    Step(
        "a callback's message",
        "Bash",
        {"command": "sleep 0.3; echo LATER"},
        ("LATER", "LOOK-AGAIN"),
        until="LOOK-AGAIN",
    ),
    Step("a callback comes once", "Bash", {"command": "echo LAST"}, ("LAST",)),
    Step(
        "a question that nobody is there for",
        "AskUserQuestion",
        {"questions_json": json.dumps(QUESTION)},
        ("could not be asked", "Which colour?", "Red", "Blue"),
        failed=True,
    ),
    Step("200 KB", "Bash", {"command": MUCH}, ("line 000001", "BIG-END", "exit code 0", "whole output")),
    Step("the whole output, by its path", "Bash", whole_output, ("BIG-END", "exit code 0")),
]
