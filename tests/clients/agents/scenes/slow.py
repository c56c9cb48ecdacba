"""Runs a command of 70 seconds, for clients that give up after 60."""

from __future__ import annotations

from scenes.step import Step, wait_for_file


WAITED = [
    Step(
        "a command of 70 s",
        "Bash",
        {"command": "sleep 70; echo SLEPT", "timeout": 100_000},
        ("SLEPT", "exit code 0"),
    ),
    Step("the next command", "Bash", {"command": "echo NEXT"}, ("NEXT",)),
]

GONE_ON = [
    Step(
        "a command of 70 s",
        "Bash",
        {"command": "sleep 70; echo SLEPT; touch slept", "timeout": 100_000},
        ("ReadBgOutput",),
    ),
    Step("the next command", "Bash", {"command": "echo NEXT"}, ("NEXT",)),
    Step("its end", "ReadBgOutput", {"task_id": 1}, ("SLEPT",), before=wait_for_file("slept", 60), until="SLEPT"),
]
