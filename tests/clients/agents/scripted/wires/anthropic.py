"""Anthropic Messages."""

from __future__ import annotations

import json
from typing import Any

from scripted.talk import FAREWELL, Call, Request, Result, Shown, blocks

Json = dict[str, Any]


def read(body: Json) -> Request:
    tools = {
        tool["name"]: Shown(tool.get("description") or "", tool.get("input_schema"))
        for tool in body.get("tools") or []
        if tool.get("name")
    }
    results: list[Result] = []
    for message in body.get("messages", []):
        for part in message["content"] if isinstance(message["content"], list) else []:
            if part.get("type") == "tool_result":
                results.append(Result(blocks(part.get("content"), encoded), bool(part.get("is_error"))))
            elif results and message["role"] == "user" and part.get("type") in ("text", "image"):
                results[-1].beside += blocks([part], encoded)
    system = "\n".join(block.text for block in blocks(body.get("system"), encoded))
    return Request(tools, results, system + json.dumps(body.get("messages", [])[:1]))


def encoded(part: Json) -> str | None:
    return part["source"]["data"] if part["type"] == "image" else None


def answer(call: Call | None, body: Json) -> tuple[Json, list[Json]]:
    """Returns the complete answer, and the same answer as events."""
    if call:
        block: Json = {
            "type": "tool_use",
            "id": f"toolu_{call.number:04d}",
            "name": call.name,
            "input": call.arguments,
        }
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
    else:
        block = {"type": "text", "text": FAREWELL}
        start = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": FAREWELL}
    stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
        "usage": usage,
    }
    events: list[Json] = [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return {**message, **stop, "content": [block]}, events
