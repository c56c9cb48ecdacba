"""The server restarts during a conversation, at the same address and with the same home directory."""

from __future__ import annotations

import signal
from collections.abc import Callable

from scenes.step import Stage, Step

# Downtime of the server for the longer restart, in seconds.
AWAY = 5


def restart(how: signal.Signals, pause: float) -> Callable[[Stage], None]:
    return lambda stage: stage.session.transport.restart(how, pause)


STEPS = [
    Step(
        "a task, before",
        "TaskManager",
        {"action": "create", "query": "", "text": "Outlive the server"},
        ("Outlive the server",),
    ),
    Step(
        "a call after the server was ended",
        "Bash",
        {"command": "echo AFTER-END"},
        ("AFTER-END",),
        before=restart(signal.SIGTERM, 0),
    ),
    Step(
        "a call after the server was killed",
        "Bash",
        {"command": "echo AFTER-KILL"},
        ("AFTER-KILL",),
        before=restart(signal.SIGKILL, 0),
    ),
    Step(
        f"a call after the server was away for {AWAY} s",
        "Bash",
        {"command": "echo AFTER-PAUSE"},
        ("AFTER-PAUSE",),
        before=restart(signal.SIGTERM, AWAY),
    ),
    Step("the task is there", "TaskManager", {"action": "list", "query": ""}, ("Outlive the server",)),
]
