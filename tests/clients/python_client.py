"""Python SDK 2.x as a client: `python_client.py ERA SESSION_FOLDER`. Eras with the prefix `http-` use
HTTP."""

import logging
import re
import subprocess
import sys
import time
import warnings
from typing import Any

import anyio
from forms import Person, form_steps, formless_steps
from lock_database import write_lock
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.types import CallToolResult, ImageContent
from pictures import CONVERTED, UNTOUCHED, Picture, check_picture
from steps import PLAN_MODE_OFF, TOOLS, Session, Steps, absent, contains, equal

# SDK mode of each era, and the expected revision.
ERAS = {
    "initialize-2025-11-25": ("legacy", "2025-11-25"),
    "auto": ("auto", "2026-07-28"),
    "known-2026-07-28": ("2026-07-28", "2026-07-28"),
}

# Maximum time for a response, in seconds.
PATIENCE = 10

# Observation time in seconds after which a call is known to be cancelled. The server retries the lock every
# 25 ms, so a call that continued would have written within this time.
LOOK = 0.1

# Maximum time for a response that does not wait for anything, in seconds.
AT_ONCE = 1


OVER_HTTP = "http-"


class Server:
    """Connects clients to the server: starts one for each client, or shares one over HTTP."""

    def __init__(self, session: Session, is_over_http: bool) -> None:
        self.command = session.server
        self.process = None
        if is_over_http:
            command = [session.server, "serve", "--http", "127.0.0.1:0"]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            self.url = re.search(r"http://\S+/mcp", self.process.stdout.readline()).group()
            token = (session.folder / "home/.scorpiox/http/token").read_text().strip()
            self.headers = {"Authorization": f"Bearer {token}"}

    def transport(self) -> Any:
        if self.process is None:
            return StdioServerParameters(command=self.command)
        return streamable_http_client(self.url, http_client=create_mcp_http_client(headers=self.headers))

    def end(self) -> None:
        if self.process is not None:
            self.process.terminate()
            equal(self.process.wait(PATIENCE), 0)


class Unexpected(logging.Handler):
    """Collects errors that the SDK only logs: responses to unknown requests, and invalid messages."""

    SIGNS = ("dropping response", "waiter for request", "transport yielded exception")

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING or record.msg.startswith(self.SIGNS):
            self.found.append(record.getMessage())


def text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


async def tasks(client: Client, action: str, what: str = "") -> str:
    result = await client.call_tool("TaskManager", {"action": action, "query": "", "text": what})
    if result.is_error:
        raise AssertionError(f"{action} failed: {text(result)}")
    return text(result)


async def ordinary_steps(client: Client, session: Session, steps: Steps) -> None:
    with steps.step("lists the tools"):
        equal([tool.name for tool in (await client.list_tools()).tools], TOOLS)
    with steps.step("creates a task, adds a step, lists it"):
        await tasks(client, "create", "write the report")
        await tasks(client, "add", "find the figures")
        contains(await tasks(client, "list"), "#1 write the report (0/1 step)")
    with steps.step("reads the plan mode, with structured content"):
        result = await client.call_tool("PlanMode", {"action": "status"})
        equal(text(result), "Plan mode is not active.")
        equal(result.structured_content, PLAN_MODE_OFF)
    with steps.step("runs a command in a sandbox, and one in the background"):
        ran = await client.call_tool("Bash", {"command": "printf 'héllo\\n'; exit 3"})
        equal(ran.is_error, False)
        contains(text(ran), "héllo\n\n[exit code 3 · ", "sandbox T")
        started = await client.call_tool("BackgroundBash", {"command": "sleep 300"})
        contains(text(started), "Started background task 1 ")
        contains(text(await client.call_tool("ListBgTasks", {})), "[1] running for ", "sleep 300")
        contains(text(await client.call_tool("KillBgTask", {"task_id": 1})), "Killed background task 1: ")
    with steps.step("lists the skills as prompts and reads each"):
        equal(sorted(prompt.name for prompt in (await client.list_prompts()).prompts), session.skills)
        for name in session.skills:
            prompt = await client.get_prompt(name, {"arguments": "Ada Lovelace"})
            contains(prompt.messages[0].content.text, f'<skill_content name="{name}">', "Ada Lovelace")


async def picture_steps(client: Client, session: Session, steps: Steps) -> None:
    async def shown(picture: Picture) -> bytes:
        result = await client.call_tool("ReadImage", {"file_path": str(session.pictures / picture.name)})
        equal([block.type for block in result.content], ["text", "image"])
        image = result.content[1]
        assert isinstance(image, ImageContent), f"{type(image)}"
        return check_picture(picture, image.mime_type, image.data, result.structured_content["sent"])

    with steps.step("shows an image, untouched"):
        equal(await shown(UNTOUCHED), (session.pictures / UNTOUCHED.name).read_bytes())
    with steps.step("shows an image that was converted to PNG"):
        await shown(CONVERTED)


async def wrong_steps(client: Client, steps: Steps) -> None:
    with steps.step("is told that a tool is unknown: -32602"):
        try:
            result = await client.call_tool("NoSuchTool", {})
            raise AssertionError(f"no error but {result}")
        except MCPError as error:
            equal(error.code, -32602)
    with steps.step("is told what is wrong with arguments: isError"):
        result = await client.call_tool("PlanMode", {"action": 7})
        equal(result.is_error, True)
        contains(text(result), "action")


async def cancel_at_first_progress(client: Client) -> list[tuple[float, str | None]]:
    """Calls a tool that must wait, cancels the call at its first progress, and returns the progress."""
    progress = []
    with anyio.fail_after(PATIENCE), anyio.CancelScope() as scope:

        async def on_progress(value: float, _total: float | None, message: str | None) -> None:
            progress.append((value, message))
            scope.cancel()

        arguments = {"action": "create", "query": "", "text": "never stored"}
        result = await client.call_tool("TaskManager", arguments, progress_callback=on_progress)
        raise AssertionError(f"not cancelled but answered: {text(result)}")
    return progress


async def look(client: Client, *parts: str) -> None:
    """Checks for a while that the list responds immediately, with these parts and without the cancelled
    task."""
    end = time.monotonic() + LOOK
    while (start := time.monotonic()) < end:
        found = await tasks(client, "list")
        took = time.monotonic() - start
        assert took < AT_ONCE, f"the answer took {took:.2f} s"
        contains(found, *parts)
        absent(found, "never stored")


async def cancel_steps(client: Client, session: Session, steps: Steps) -> None:
    with write_lock(session.state):
        with steps.step("hears of progress while a call waits, and cancels it"):
            progress = await cancel_at_first_progress(client)
            equal(progress, [(1, "Waiting for others to finish writing")])
        with steps.step("is answered at once while the lock is held"):
            await look(client, "1 task,", "write the report")
        with steps.step("cancels another call just before the lock is released"):
            await cancel_at_first_progress(client)
            await tasks(client, "list")  # its response shows that the cancellation was read
    with steps.step("finds that the cancelled calls stored nothing"):
        contains(await tasks(client, "create", "after the lock"), "#2")
        await look(client, "2 tasks,", "write the report", "after the lock")


async def converse(era: str, session: Session, steps: Steps) -> None:
    mode, revision = ERAS[era.removeprefix(OVER_HTTP)]
    unexpected = Unexpected()
    logging.basicConfig(handlers=[unexpected], level=logging.DEBUG)
    person = Person()
    server = Server(session, is_over_http=era.startswith(OVER_HTTP))
    async with Client(
        server.transport(), mode=mode, read_timeout_seconds=PATIENCE, elicitation_callback=person.fill_in
    ) as client:
        with steps.step(f"agrees on {revision}"):
            equal(client.protocol_version, revision)
        await ordinary_steps(client, session, steps)
        await picture_steps(client, session, steps)
        await form_steps(client, person, steps)
        await wrong_steps(client, steps)
        await cancel_steps(client, session, steps)
        closing = time.monotonic()
    took = [time.monotonic() - closing]
    async with Client(server.transport(), mode=mode, read_timeout_seconds=PATIENCE) as client:
        await formless_steps(client, steps)
        closing = time.monotonic()
    took.append(time.monotonic() - closing)
    with steps.step("ends the server within a second"):
        # A busy machine may delay the SDK once; a slow server is slow each time.
        while min(took) >= 1 and len(took) < 5:
            async with Client(server.transport(), mode=mode, read_timeout_seconds=PATIENCE) as client:
                await client.list_tools()
                closing = time.monotonic()
            took.append(time.monotonic() - closing)
        assert min(took) < 1, "took " + ", ".join(f"{each:.2f}" for each in took) + " s"
    with steps.step("got no message that it did not expect"):
        equal(unexpected.found, [])
    server.end()


def main() -> None:
    era, folder = sys.argv[1:]
    warnings.simplefilter("ignore")  # the SDK's own deprecations
    steps = Steps("python", era)
    try:
        anyio.run(converse, era, Session(folder), steps)
    except Exception as error:
        with steps.step("comes to the end of the conversation"):
            raise error
    sys.exit(steps.failed > 0)


main()
