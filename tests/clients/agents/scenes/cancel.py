"""The user cancels a running command."""

from __future__ import annotations

import random

import processes
from scenes.step import Failed, Step
from session import Session

# Maximum time for a cancellation to reach the server, or for its absence to be certain, in seconds.
SOON = 5

NOT_TOLD = "does not tell the server, so the command runs on; it {}"


class Cancel:
    """A command that would run for five minutes, and its end."""

    def __init__(self) -> None:
        # Identifies the process among others.
        self.seconds = f"300.{random.randrange(10**8):08d}"
        self.steps = [
            Step(
                "a command of 300 s", "Bash", {"command": f"touch began; sleep {self.seconds}", "timeout": 400_000}
            )
        ]

    def runs(self) -> bool:
        return bool(processes.with_word(self.seconds))

    def person(self, session: Session) -> str:
        """Plays the user's actions; returns the client's limitation, if any."""
        client = session.client
        with session.on_screen() as screen:
            screen.type(client.allowing)
            if not processes.wait_for(self.runs, 60):
                raise Failed(f"the command did not begin:\n{screen.text()}")
            screen.type(client.cancelling)
            told = processes.wait_for(session.cancelled, SOON)
            if told != client.tells_of_cancel:
                raise Failed(f"the server was {'told' if told else 'not told'}:\n{screen.text()}")
            if told and not processes.wait_for(lambda: not self.runs(), SOON):
                raise Failed("the server was told, and the command runs on")
        # The screen is closed, and a client may notify the server.
        processes.wait_for(lambda: not processes.of(session.home), SOON)
        session.end_agent()
        ended = processes.wait_for(lambda: not self.runs(), SOON)
        if ended != client.ends_calls:
            raise Failed(f"the client is gone, and the command {'has ended' if ended else 'runs on'}")
        session.end()
        if not processes.wait_for(lambda: not self.runs(), SOON):
            raise Failed("the server is gone, and the command runs on")
        return "" if told else NOT_TOLD.format("ends with the client" if ended else "outlives the client")
