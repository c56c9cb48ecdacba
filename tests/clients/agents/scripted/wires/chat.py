"""OpenAI chat completions."""

from __future__ import annotations

import json
from typing import Any

from scripted.talk import FAREWELL, Call, Request, Result, Shown, blocks

Json = dict[str, Any]


def read(body: Json) -> Request:
    tools = {}
    for tool in body.get("tools") or []:
        function = tool["function"]
        tools[function["name"]] = Shown(function.get("description") or "", function.get("parameters"))
    results: list[Result] = []
    system = []
    for message in body.get("messages", []):
        if message["role"] == "tool":
            results.append(Result(blocks(message.get("content"), encoded)))
        elif results and message["role"] == "user":
            results[-1].beside += blocks(message.get("content"), encoded)
        elif message["role"] in ("system", "developer"):
            system += [block.text for block in blocks(message["content"], encoded)]
    return Request(tools, results, "\n".join(system))


def encoded(part: Json) -> str | None:
    return part["image_url"]["url"].partition("base64,")[2] if part["type"] == "image_url" else None


def answer(call: Call | None, body: Json) -> tuple[Json, list[Json]]:
    """Returns the complete answer, and the same answer as events."""
    message: Json = {"role": "assistant", "content": None if call else FAREWELL}
    if call:
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        message["tool_calls"] = [
            {"index": 0, "id": f"call_{call.number:04d}", "type": "function", "function": function}
        ]
    stop = "tool_calls" if call else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    whole = {"id": "chatcmpl-1", "created": 1, "model": body.get("model")}
    part = {**whole, "object": "chat.completion.chunk"}
    events = [
        {**part, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**part, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]},
        {**part, "choices": [], "usage": usage},
    ]
    choice = {"index": 0, "message": message, "finish_reason": stop}
    return {**whole, "object": "chat.completion", "choices": [choice], "usage": usage}, events
