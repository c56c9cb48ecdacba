#!/usr/bin/env python3
"""Shows a real session with the real program over pipes: demo.py BINARY"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

SKILL = """---
name: release-notes
description: Use when writing release notes for a version
---

# Release notes for $0

Write what changed for users, newest first. Tone: $1.
"""

COLOUR = sys.stdout.isatty()


def paint(code, text):
    return f"\033[{code}m{text}\033[0m" if COLOUR else text


def heading(text):
    print("\n" + paint("1", f"== {text}"))


def say(label, text, code="36"):
    lines = text.splitlines() or [""]
    print(paint(code, f"  {label:<9}") + lines[0])
    for line in lines[1:]:
        print(" " * 11 + line)


class Server:
    """The program, started like an AI client starts it."""

    def __init__(self, binary, folder):
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": folder,
            "SCORPIOX_HOME": os.path.join(folder, ".scorpiox"),
        }
        self.workspace = os.path.join(folder, "project")
        self.binary = binary
        self.next_id = 0
        self.process = None

    def start(self):
        begun = time.perf_counter()
        self.process = subprocess.Popen(
            [self.binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.workspace,
            env=self.environment, text=True, bufsize=1)
        result = self.ask("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "demo", "version": "1"}})
        taken = (time.perf_counter() - begun) * 1000
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        info = result["serverInfo"]
        say("server", f"{info['name']} {info['version']}, protocol {result['protocolVersion']}, "
                      f"answered {taken:.1f} ms after it was started")

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the server ended unexpectedly")
        return json.loads(line)

    def ask(self, method, params=None):
        self.next_id += 1
        self.send({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params or {}})
        while True:
            message = self.receive()
            if message.get("id") == self.next_id:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']}")
                return message["result"]
            say("notified", message["params"]["data"]["message"], "35")

    def call(self, tool, may_fail=False, **arguments):
        say("call", f"{tool} {json.dumps(arguments, ensure_ascii=False)}", "33")
        begun = time.perf_counter()
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        taken = (time.perf_counter() - begun) * 1000
        for content in result["content"]:
            say("result", content["text"])
        if result["isError"] and not may_fail:
            sys.exit(f"{tool} failed")
        print(paint("2", f"{'':11}({taken:.2f} ms)"))
        return result


def processes_below(pid):
    """Describes the processes below a process."""
    count = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError):  # a thread that ends meanwhile
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                count += len(file.read().split())
    return "one helper process, which waits for the next command" if count == 1 else f"{count} processes"


def main():
    binary = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="scorpiox-demo-") as folder:
        project = os.path.join(folder, "project")
        skill = os.path.join(project, ".claude", "skills", "release-notes")
        os.makedirs(skill)
        with open(os.path.join(skill, "SKILL.md"), "w", encoding="utf-8") as file:
            file.write(SKILL)
        with open(os.path.join(project, ".env"), "w", encoding="utf-8") as file:
            file.write("TOKEN=hunter2\n")
        session(Server(binary, folder))
    configuration(binary)


def session(server):
    heading("Handshake")
    server.start()

    heading("Tools, and the authority each has")
    tools = server.ask("tools/list")["tools"]
    for tool in tools:
        say("tool", f"{tool['name']}: {tool['description'].splitlines()[0]}")
    overview = subprocess.run([server.binary, "tools"], env=server.environment, cwd=server.workspace,
                              capture_output=True, text=True, check=True).stdout
    print(textwrap.indent(overview.rstrip(), " " * 11))

    heading("A task with steps")
    server.call("TaskManager", action="create", query="", text="Release 1.0")
    for step in ["Write the changelog", "Tag the commit", "Übersetzung prüfen ✓"]:
        server.call("TaskManager", action="add", query="", text=step)
    server.call("TaskManager", action="complete", query="", step_id=1)
    server.call("TaskManager", action="pending", query="")

    heading("Plan mode")
    server.call("PlanMode", action="enter", goal="Ship release 1.0 without surprises")
    server.call("PlanMode", action="status")

    server.call("PlanMode", action="reset")

    heading("Commands, in a sandbox")
    server.call("Bash", command="echo 'print(6 * 7)' > answer.py && python3 answer.py && git init -q . && ls -A")
    server.call("Bash", may_fail=True, command="cat .env; echo evil >> .git/hooks/pre-commit; echo evil >> ~/.bashrc; "
                "cat /etc/shadow; curl -sS https://example.com")
    server.call("BackgroundBash", command="for i in 1 2 3; do echo step $i; sleep 0.1; done; sleep 300")
    server.call("Bash", command="sleep 0.5; echo meanwhile")
    server.call("ReadBgOutput", task_id=1)
    server.call("KillBgTask", task_id=1)
    say("left", processes_below(server.process.pid), "2")

    heading("The same while a plan is made: nothing can be changed")
    server.call("PlanMode", action="enter", goal="Ship release 1.0 without surprises")
    server.call("Bash", may_fail=True, command="python3 answer.py; rm answer.py")

    heading("A skill from a folder")
    server.call("InvokeSkill", skill_name="release-notes", arguments='1.0 "plain and short"')

    heading("A callback, set and delivered")
    server.call("SetCallback", action="set", message="Is the release tagged?", delay_seconds=1, repeat_count=2)
    say("waiting", "for the callback to fire", "2")
    message = server.receive()
    say("notified", message["params"]["data"]["message"], "35")
    server.call("PlanMode", action="status")

    heading("SIGKILL, and a new start")
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    say("killed", f"exit code {server.process.returncode}", "31")
    server.start()
    server.call("TaskManager", action="list", query="")
    server.call("PlanMode", action="json")
    server.call("SetCallback", action="list")

    heading("The end")
    begun = time.perf_counter()
    server.process.stdin.close()
    code = server.process.wait()
    say("ended", f"exit code {code}, {(time.perf_counter() - begun) * 1000:.1f} ms after its input was closed")


def configuration(binary):
    heading("Configuration to paste")
    for client, name in [("claude-desktop", "Claude Desktop"), ("claude-code", "Claude Code")]:
        shown = subprocess.run([binary, "config", client], capture_output=True, text=True, check=True)
        print(f"\n  {name}. {shown.stderr.strip()}")
        print(textwrap.indent(shown.stdout.rstrip(), "  "))
    print("\n  Or from a terminal: scorpiox-code config claude-desktop --write")


if __name__ == "__main__":
    main()
