"""A user at the screen answers a question in the client's own form."""

from __future__ import annotations

import json

import processes
from scenes.step import Failed, Step
from session import Session

ASKED = {"questions": [{"text": "Which colour?", "options": ["Red", "Blue"]}]}

STEPS = [Step("a question", "AskUserQuestion", {"questions_json": json.dumps(ASKED)})]


def person(session: Session) -> str:
    """Plays the user's actions, if the client has forms."""
    with session.on_screen() as screen:
        screen.type(session.client.answering)
        if not processes.wait_for(lambda: session.served(), 30):
            raise Failed(f"no answer came:\n{screen.text()}")
        answer = session.served()[0]
        if answer.failed or "Red" not in answer.text:
            raise Failed(f"the server says {answer.text!r}:\n{screen.text()}")
    return ""
