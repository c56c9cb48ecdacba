"""Python SDK 2.x as a busy client: `busy.py ERA URL TOKEN`. Creates tasks and answers questions until its
input ends, and prints a line for each: `made NAME`, `answered`, or `failed` with the reason."""

import itertools
import json
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import anyio
from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.types import ElicitResult

ERAS = {"2025-11-25": "legacy", "2026-07-28": "2026-07-28"}

# Maximum time for a response, in seconds.
PATIENCE = 10

QUESTION = json.dumps({"questions": [{"text": "Which?", "options": ["A", "B"]}]})


async def fill_in(_context: Any, params: Any) -> ElicitResult:
    field = next(iter(params.requested_schema["properties"]))
    return ElicitResult(action="accept", content={field: "B"})


async def attempt(
    client: Client, done: str, name: str, arguments: dict[str, str], is_done: Callable[[str], bool]
) -> None:
    try:
        result = await client.call_tool(name, arguments)
        text = " ".join(block.text for block in result.content if block.type == "text")
        print(done if not result.is_error and is_done(text) else f"failed {text!r}", flush=True)
    except Exception as error:  # noqa: BLE001: after any error, the next call matters
        print(f"failed {error!r}", flush=True)


async def work(client: Client, era: str, numbers: Iterator[int], ended: threading.Event) -> None:
    while not ended.is_set():
        task = f"task-python-{era}-{next(numbers)}-end"
        arguments = {"action": "create", "query": "", "text": task}
        await attempt(client, f"made {task}", "TaskManager", arguments, lambda _: True)
        await attempt(client, "answered", "AskUserQuestion", {"questions_json": QUESTION}, lambda text: "B" in text)


async def keep_busy(era: str, url: str, token: str) -> None:
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    headers = {"Authorization": f"Bearer {token}"}
    numbers = itertools.count()
    while not ended.is_set():
        transport = streamable_http_client(url, http_client=create_mcp_http_client(headers=headers))
        try:
            async with Client(
                transport, mode=ERAS[era], read_timeout_seconds=PATIENCE, elicitation_callback=fill_in
            ) as client:
                await work(client, era, numbers, ended)
        except Exception as error:  # noqa: BLE001: a broken connection may end the client, which is then restarted
            print(f"failed {error!r}", flush=True)


warnings.simplefilter("ignore")  # the SDK's own deprecations
anyio.run(keep_busy, *sys.argv[1:])
