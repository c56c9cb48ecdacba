"""The client starts the server from the unchanged file that `config` wrote."""

from scenes.step import Step

STEPS = [
    Step(
        "a call",
        "TaskManager",
        {"action": "create", "query": "", "text": "Started as configured"},
        ("Started as configured",),
    )
]
