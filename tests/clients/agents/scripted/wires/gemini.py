"""Gemini's generateContent."""

from __future__ import annotations

import json
from typing import Any

from scripted.talk import FAREWELL, Call, Request, Result, Shown, blocks, text

Json = dict[str, Any]


def read(body: Json) -> Request:
    tools = {
        function["name"]: Shown(
            function.get("description") or "", function.get("parametersJsonSchema") or function.get("parameters")
        )
        for group in body.get("tools") or []
        for function in group.get("functionDeclarations", [])
    }
    results: list[Result] = []
    for message in body.get("contents", []):
        for part in message.get("parts", []):
            if "functionResponse" in part:
                results.append(result(part["functionResponse"]))
            elif results and message.get("role") == "user":
                results[-1].beside += blocks([part], encoded)
    system = (body.get("systemInstruction") or {}).get("parts")
    first = json.dumps(body.get("contents", [])[:1])
    return Request(tools, results, "\n".join(block.text for block in blocks(system, encoded)) + first)


def result(function: Json) -> Result:
    response = function.get("response", {})
    said = [text(value if isinstance(value, str) else json.dumps(value)) for value in response.values()]
    return Result(said + blocks(function.get("parts"), encoded), "error" in response)


def encoded(part: Json) -> str | None:
    return part["inlineData"]["data"] if "inlineData" in part else None


def answer(call: Call | None, body: Json) -> tuple[Json, list[Json]]:
    """Returns the complete answer, and the same answer as events."""
    part = {"functionCall": {"name": call.name, "args": call.arguments}} if call else {"text": FAREWELL}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
    return whole, [whole]
