"""Tests AskUserQuestion: in the client's form, and as text without forms."""

import asyncio
import json
from typing import Any

from mcp import Client, MCPError
from mcp.client import ClientRequestContext
from mcp.types import CallToolResult, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from steps import QUESTIONS, Steps, equal

CALL = ("AskUserQuestion", {"questions_json": json.dumps(QUESTIONS["ask"])})

# Form in all revisions that this SDK supports.
FORM = QUESTIONS["forms"]["2025-11-25"]

# Revision in which a result contains the form.
IN_RESULT = "2026-07-28"

ACCEPT = ElicitResult(action="accept", content=FORM["content"])
DECLINE = ElicitResult(action="decline")

# A faster decline counts as a client without a user.
READING_SECONDS = 1.1


class Person:
    """Answers each form with the preset answer, and records the form."""

    def __init__(self) -> None:
        self.answer = DECLINE
        self.shown: list[tuple[Any, Any]] = []

    async def fill_in(self, context: ClientRequestContext, form: Any) -> ElicitResult:
        self.shown.append((context.request_id, form))
        if self.answer is DECLINE:
            await asyncio.sleep(READING_SECONDS)
        return self.answer


def check_form(identity: Any, form: Any, revision: str) -> None:
    equal(identity == "form", revision == IN_RESULT)
    equal(type(form), ElicitRequestFormParams)
    equal(form.message, QUESTIONS["message"])
    equal(form.requested_schema["type"], "object")
    fields = form.requested_schema["properties"]
    equal(sorted(fields), sorted(FORM["fields"]))
    for name, expected in FORM["fields"].items():
        equal({key: fields[name].get(key) for key in expected}, expected)


def check_answer(result: CallToolResult, expected: dict[str, Any]) -> None:
    equal([block.text for block in result.content], [expected["text"]])
    equal(result.is_error, False)
    equal(result.structured_content, expected["structured"])


async def form_steps(client: Client, person: Person, steps: Steps) -> None:
    revision = client.protocol_version
    bringer = "a result brings" if revision == IN_RESULT else "a request brings"
    with steps.step(f"answers questions in the form that {bringer}"):
        person.answer = ACCEPT
        result = await client.call_tool(*CALL)
        ((identity, form),) = person.shown
        check_form(identity, form, revision)
        check_answer(result, QUESTIONS["answered"])
    with steps.step(f"declines the form that {bringer}"):
        person.answer = DECLINE
        person.shown.clear()
        check_answer(await client.call_tool(*CALL), QUESTIONS["declined"])
        equal(len(person.shown), 1)
    if revision == IN_RESULT:
        await again_steps(client, steps)


async def again_steps(client: Client, steps: Steps) -> None:
    """Tests the repeated call, which the SDK makes automatically in the previous steps."""
    call = client.session.call_tool
    with steps.step("calls again with the state that it was given, and with no other"):
        first = await call(*CALL, allow_input_required=True)
        equal(type(first), InputRequiredResult)
        equal(list(first.input_requests), ["form"])
        answer = {"form": ACCEPT}
        again = await call(*CALL, input_responses=answer, request_state=first.request_state)
        check_answer(again, QUESTIONS["answered"])
        try:
            result = await call(*CALL, input_responses=answer, request_state="made up")
            raise AssertionError(f"no error but {result}")
        except MCPError as error:
            equal(error.code, -32602)


async def formless_steps(client: Client, steps: Steps) -> None:
    """Tests a client without the capability for forms."""
    with steps.step("is given questions as text, without forms of its own"):
        result = await client.call_tool(*CALL)
        equal(result.is_error, True)
        equal([block.text for block in result.content], [QUESTIONS["unasked"]["text"]])
