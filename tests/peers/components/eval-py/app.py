"""Runs Python code that a model writes."""

import contextlib
import io

import wit_world
from componentize_py_types import Err


class WitWorld(wit_world.WitWorld):
    def execute(self, statements: str) -> str:
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(statements, {})
        except Exception as error:
            raise Err(f"{type(error).__name__}: {error}")
        return printed.getvalue()
