"""Functions of the world in wit/world.wit. Each becomes a tool.

A function of type `-> result<T, E>` returns a T as it is, and raises `Err` with an E: never return `Ok(…)` or `Err(…)`.
Any other exception ends the call, and the model reads its traceback.

An imported function raises its `err`. Catch it, and say which function failed: the model reads the text.

    try:
        store.set("last", value)
    except Err as error:
        raise Err(f"store.set failed: {error.value}")
"""

import wit_world
from componentize_py_types import Err
from wit_world import Tally, Unit


class WitWorld(wit_world.WitWorld):
    def count(self, text: str, unit: Unit | None) -> Tally:
        if not text:
            raise Err("There is no text.")
        if unit == Unit.CHARACTERS:
            return Tally(len(text), None)
        parts = text.splitlines() if unit == Unit.LINES else text.split()
        # The first of the longest parts.
        return Tally(len(parts), max(parts, key=len, default=None))
