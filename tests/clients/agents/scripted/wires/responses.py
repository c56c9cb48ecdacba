"""OpenAI Responses. A tool of a namespace is called `namespace::tool` here."""

from __future__ import annotations

import json
from typing import Any

from scripted.talk import FAREWELL, Call, Request, Result, Shown, blocks, text

Json = dict[str, Any]

# Client's own search among unlisted tools, which is a separate kind of call.
SEARCH = "tool_search"


def read(body: Json) -> Request:
    items = [item for item in body.get("input", []) if isinstance(item, dict)]
    tools: dict[str, Shown] = {}
    for tool in body.get("tools") or []:
        add_tool(tools, tool)
    results: list[Result] = []
    for item in items:
        if item.get("type") == "function_call_output":
            results.append(Result(blocks(item.get("output"), encoded)))
        elif item.get("type") == "tool_search_output":
            for tool in item.get("tools", []):
                add_tool(tools, tool)
            results.append(Result([text(json.dumps(item.get("tools", [])))]))
        elif results and item.get("role") == "user":
            results[-1].beside += blocks(item.get("content"), encoded)
    said = [item for item in items if item.get("role") in ("developer", "system", "user")]
    return Request(tools, results, (body.get("instructions") or "") + json.dumps(said))


def add_tool(tools: dict[str, Shown], tool: Json) -> None:
    if "tools" not in tool:
        tools[tool.get("name") or tool["type"]] = Shown(tool.get("description") or "", tool.get("parameters"))
        return
    for member in tool["tools"]:
        name = f"{tool['name']}::{member['name']}"
        tools[name] = Shown(member.get("description") or "", member.get("parameters"))


def encoded(part: Json) -> str | None:
    return part["image_url"].partition("base64,")[2] if part.get("type") == "input_image" else None


def answer(call: Call | None, body: Json) -> tuple[Json, list[Json]]:
    """Returns the complete answer, and the same answer as events."""
    item = output_item(call)
    usage: Json = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": body.get("model"),
    }
    whole |= {"output": [item], "usage": usage, "parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
    events: list[Json] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
        *deltas(item),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return whole, [{**event, "sequence_number": number} for number, event in enumerate(events)]


def output_item(call: Call | None) -> Json:
    if not call:
        content = [{"type": "output_text", "text": FAREWELL, "annotations": []}]
        return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    called = {"call_id": f"call_{call.number:04d}", "status": "completed"}
    if call.name == SEARCH:
        search = {"execution": "client", "arguments": call.arguments}
        return {"type": "tool_search_call", "id": f"tsc_{call.number:04d}", **called, **search}
    space, _, name = call.name.rpartition("::")
    item = {"type": "function_call", "id": f"fc_{call.number:04d}", **called, "name": name}
    item |= {"arguments": json.dumps(call.arguments)}
    return item | ({"namespace": space} if space else {})


def deltas(item: Json) -> list[Json]:
    at = {"item_id": item["id"], "output_index": 0}
    if item["type"] == "function_call":
        part = "response.function_call_arguments"
        return [
            {"type": f"{part}.delta", **at, "delta": item["arguments"]},
            {"type": f"{part}.done", **at, "arguments": item["arguments"], "name": item["name"]},
        ]
    if item["type"] == "message":
        part, at = item["content"][0], at | {"content_index": 0}
        return [
            {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
            {"type": "response.output_text.delta", **at, "delta": FAREWELL},
            {"type": "response.output_text.done", **at, "text": FAREWELL},
            {"type": "response.content_part.done", **at, "part": part},
        ]
    return []
