"""A client of the server that a command starts: handshake, one call, end."""

import json
import os
import queue
import subprocess
import threading
import time

# Longest wait for an answer: an installation and the first call take less than a minute.
LIMIT = 60
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "dist", "version": "1"},
}


class Client:
    def __init__(self, command, environment, folder):
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.lines, self.errors = queue.Queue(), []
        threading.Thread(target=self._read, daemon=True).start()
        self.complaints = threading.Thread(target=self._complain, daemon=True)
        self.complaints.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _complain(self):
        self.errors.extend(self.process.stderr)

    def ask(self, number, method, parameters):
        """Returns the result of a request."""
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        until = self.started + LIMIT
        while True:
            line = self.lines.get(timeout=max(0.1, until - time.monotonic()))
            if line is None:
                self.complaints.join(5)
                raise AssertionError(f"the server ended: {b''.join(self.errors).decode(errors='replace')}")
            answer = json.loads(line)
            if answer.get("id") == number and "method" not in answer:
                return answer["result"]

    def handshake(self):
        """Returns the seconds from the start to the answer of `initialize`."""
        result = self.ask(1, "initialize", INITIALIZE)
        assert result["serverInfo"]["name"] == "scorpiox-code", result
        return time.monotonic() - self.started

    def call(self):
        """Calls a harmless tool."""
        self.process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        result = self.ask(2, "tools/call", {"name": "TaskManager", "arguments": {"action": "list"}})
        assert not result.get("isError"), result
        return time.monotonic() - self.started

    def end(self):
        """Closes the standard input, and returns the exit code."""
        self.process.stdin.close()
        return self.process.wait(LIMIT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def environment(home, **more):
    """Returns the environment of a person whose home is a new folder."""
    kept = {key: value for key, value in os.environ.items() if not key.upper().startswith(("SCORPIOX_", "NPM_", "UV_", "PIP"))}
    return {**kept, "HOME": str(home), "USERPROFILE": str(home), "SCORPIOX_HOME": str(home / ".scorpiox"), **more}
