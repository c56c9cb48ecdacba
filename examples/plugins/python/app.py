"""The functions of the world in wit/world.wit, each a tool."""

import csv
import io
import math
import statistics

import wit_world
from componentize_py_types import Err
from wit_world import Summary


def number(cell: str | None) -> float | None:
    try:
        value = float(cell or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


class WitWorld(wit_world.WitWorld):
    # The schema names the argument `csv`, which shadows the module in this method.
    def summarize(self, csv: str, column: str) -> Summary:
        return summary(csv, column)


def summary(text: str, column: str) -> Summary:
    table = csv.DictReader(io.StringIO(text))
    names = table.fieldnames or []
    if column not in names:
        known = ", ".join(names) or "none"
        raise Err(f"There is no column {column!r}. Columns: {known}.")
    cells = [number(row[column]) for row in table]
    numbers = [value for value in cells if value is not None]
    if not numbers:
        raise Err(f"The column {column!r} has no numbers in {len(cells)} rows.")
    return Summary(
        rows=len(cells),
        skipped=len(cells) - len(numbers),
        smallest=min(numbers),
        largest=max(numbers),
        mean=statistics.fmean(numbers),
        median=statistics.median(numbers),
    )
