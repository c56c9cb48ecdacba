"""Shared by the Python programs of these tests: the directories of a session, and the printed steps."""

import json
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TOOLS = [
    "Bash",
    "ReadImage",
    "ReadDocs",
    "WebSearch",
    "TaskManager",
    "PlanMode",
    "AskUserQuestion",
    "InvokeSkill",
    "BackgroundBash",
    "ReadBgOutput",
    "ListBgTasks",
    "KillBgTask",
    "SetCallback",
]

# Arguments of AskUserQuestion, and the expected results.
QUESTIONS = json.loads((Path(__file__).parent / "questions.json").read_text(encoding="utf-8"))

PLAN_MODE_OFF = {"active": False, "goal": "", "plan_file": "", "started_at": None}


class Session:
    """Directories that `run.sh` created for one client, and the command that starts the server in them."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.server = str(self.folder / "server")
        self.state = self.folder / "home/.scorpiox/state"
        self.pictures = self.folder / "workspace/pictures"
        self.skills = sorted(path.name for path in (self.folder / "workspace/.scorpiox/skills").iterdir())


class Steps:
    """Prints one line per step and counts the failed ones."""

    def __init__(self, client: str, era: str) -> None:
        self.prefix = f"{client:<13} {era:<22}"
        self.failed = 0

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.failed += 1
            print(f"FAIL  {self.prefix} {what}: {reason(error)}", flush=True)
            traceback.print_exception(error)
        else:
            print(f"ok    {self.prefix} {what}", flush=True)


def reason(error: BaseException) -> str:
    """Formats an error in one line; for a group, its first member."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}".replace("\n", " ")


def equal(found: Any, expected: Any) -> None:
    if found != expected:
        raise AssertionError(f"expected {expected!r}, found {found!r}")


def contains(text: str, *parts: str) -> None:
    for part in parts:
        if part not in text:
            raise AssertionError(f"{part!r} is not in {text!r}")


def absent(text: str, part: str) -> None:
    if part in text:
        raise AssertionError(f"{part!r} must not be in {text!r}")
