"""Checks the workflows in .github: each step runs a target of the Makefile or a script of the project, permissions are
no wider than a job's steps need, actions are pinned, and nothing of a pull request reaches a secret.

usage: check.py [FOLDER]; FOLDER is a project, by default this one"""

import os
import pathlib
import re
import sys

import yaml

# Rights that a job may have beyond reading, and the step that needs each.
NEEDED = {
    ("attestations", "write"): r"actions/attest",
    ("id-token", "write"): r"actions/attest|scripts/release/(npm|pypi)\.sh",
    ("contents", "write"): r"scripts/release/github\.sh",
    ("packages", "write"): r"scripts/release/image\.sh",
}
EVENTS = {"push", "pull_request"}
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")


def targets(project):
    return set(re.findall(r"^([a-z][a-z-]*):", (project / "Makefile").read_text(), re.M))


def wrong_command(project, command):
    """Returns the fault of the command of a step, if it has one."""
    words = command.split()
    # The image's test starts containers as root.
    if words[:2] == ["sudo", "-E"]:
        words = words[2:]
    if not words or not all(re.fullmatch(r"[\w./-]+", word) for word in words):
        return "is not one plain command"
    if words[0] == "make":
        unknown = [word for word in words[1:] if word not in targets(project)]
        return f"names {unknown}, which the Makefile does not have" if unknown or len(words) < 2 else None
    path = project / words[0]
    if words[0].startswith(("scripts/", "tests/")) and path.is_file() and os.access(path, os.X_OK):
        return None
    return "starts neither a target of the Makefile nor a script of the project"


def faults_of_permissions(job, used):
    for scope, right in (job.get("permissions") or {}).items():
        if right == "read" and scope == "contents":
            continue
        step = NEEDED.get((scope, right))
        if not step or not any(re.match(step, text) for text in used):
            yield f"has the right {scope}: {right}, which no step needs"


def faults_of_job(project, events, job):
    used = [step.get("uses") or step.get("run") or "" for step in job["steps"]]
    yield from faults_of_permissions(job, used)
    if "timeout-minutes" not in job:
        yield "has no timeout-minutes"
    builds = [text for text in used if text.startswith("make ")]
    secrets = "secrets." in str(job) or any(right == "write" for right in (job.get("permissions") or {}).values())
    if secrets and builds:
        yield f"may write or holds a secret, and builds: {builds}"
    if secrets and ("pull_request" in events or job.get("environment") != "release"):
        yield "may write or holds a secret outside of the environment `release`"
    for step in job["steps"]:
        if action := step.get("uses"):
            if not PINNED.fullmatch(action):
                yield f"{action} is not pinned by the digest of a commit"
            if action.startswith("actions/checkout@") and (step.get("with") or {}).get("persist-credentials") is not False:
                yield "leaves the token in the work tree; set persist-credentials: false"
        elif fault := wrong_command(project, step["run"]):
            yield f"`{step['run']}` {fault}"


def faults(project):
    paths = sorted((project / ".github/workflows").glob("*.y*ml"))
    if not paths:
        yield "there are no workflows"
    for path in paths:
        text = path.read_text()
        workflow = yaml.safe_load(text)
        # YAML 1.1 reads the key `on` as true.
        events = workflow[True]
        for event in events if isinstance(events, (dict, list)) else [events]:
            if event not in EVENTS:
                yield f"{path.name}: the event {event} is not allowed"
        if workflow.get("permissions") != {"contents": "read"}:
            yield f"{path.name}: permissions are {workflow.get('permissions')}, and not contents: read"
        for name, job in workflow["jobs"].items():
            yield from (f"{path.name}: {name}: {fault}" for fault in faults_of_job(project, events, job))
        for line in text.splitlines():
            if re.search(r"uses: ", line) and not re.search(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line):
                yield f"{path.name}: `{line.strip()}` does not name its version in a comment"


def main():
    project = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    found = list(faults(project))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
