#!/usr/bin/env python3
"""Makes the files of this folder with programs that others wrote, from text of this project.

    pip install feedgen nbformat nbclient ipykernel pandas matplotlib fastapi apispec pyyaml python-docx
    apt-get install pandoc
    python3 make.py
"""

import csv
import json
import subprocess
from datetime import datetime, timezone
from pathlib import Path

HERE = Path(__file__).parent


def feeds():
    from feedgen.feed import FeedGenerator

    feed = FeedGenerator()
    feed.load_extension("dc")
    feed.load_extension("podcast")
    feed.id("https://example.com/lakes")
    feed.title("Lakes & rivers")
    feed.link(href="https://example.com/", rel="alternate")
    feed.link(href="https://example.com/feed.xml", rel="self")
    feed.subtitle("Water <on land>, measured")
    feed.language("en")
    feed.updated(datetime(2024, 5, 6, 7, 8, 9, tzinfo=timezone.utc))
    first = feed.add_entry(order="append")
    first.id("https://example.com/deep")
    first.title("How deep is x < y?")
    first.link(href="https://example.com/deep")
    first.author({"name": "Ana Lake", "email": "ana@example.com"})
    first.dc.dc_creator("Ana Lake")
    first.published(datetime(2024, 5, 6, tzinfo=timezone.utc))
    first.updated(datetime(2024, 5, 7, tzinfo=timezone.utc))
    first.summary("In short: deep.")
    first.content(
        '<h2>Baikal</h2><p>It is <b>1642 m</b> deep, says <a href="/who">someone</a>.</p>'
        "<pre><code class='language-python'>depth = 1642\nprint(depth)</code></pre>"
        "<table><tr><th>Lake</th><th>Depth</th></tr><tr><td>Baikal</td><td>1642</td></tr></table>",
        type="html",
    )
    second = feed.add_entry(order="append")
    second.id("https://example.com/warm")
    second.title("Ünd warm?")
    second.link(href="https://example.com/warm")
    second.published(datetime(2024, 5, 5, tzinfo=timezone.utc))
    second.description("Tom & Jerry swim; 3 &lt; 4.", isSummary=True)
    second.enclosure("https://example.com/warm.mp3", "1000", "audio/mpeg")
    feed.rss_file(HERE / "feedgen.rss", pretty=True)
    feed.atom_file(HERE / "feedgen.atom", pretty=True)


def notebooks():
    import nbformat
    from nbclient import NotebookClient
    from nbformat import v4

    cells = [
        v4.new_markdown_cell("# Depths\n\nText with `code`, a [link](https://example.com) and $x_1$.\n\n"
                             "![dot](data:image/png;base64," + "iVBORw0KGgo" * 20 + ")"),
        v4.new_code_cell("depth = {'Baikal': 1642}\nprint(depth)"),
        v4.new_code_cell("import pandas\npandas.DataFrame({'lake': ['Baikal', 'Como'], 'depth': [1642, 425]})"),
        v4.new_code_cell("from IPython.display import HTML\nHTML('<table><tr><th>a<tr><td>1 | 2</table>')"),
        v4.new_code_cell("import matplotlib.pyplot as plot\nplot.figure(figsize=(1, 1))\n_ = plot.plot([1, 2])"),
        v4.new_code_cell("%%bash\necho from the shell"),
        v4.new_code_cell("1 / 0"),
        v4.new_raw_cell("raw text"),
    ]
    notebook = v4.new_notebook(cells=cells)
    NotebookClient(notebook, kernel_name="python3", allow_errors=True).execute()
    notebook.metadata = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"},
                         "language_info": {"name": "python", "version": "3"}}
    for cell in notebook.cells:
        cell.metadata = {}
        cell.id = "cell-" + str(notebook.cells.index(cell))
        for output in cell.get("outputs", []):
            # The path of the interpreter and of its files is irrelevant.
            if output.output_type == "error":
                output.traceback = [line for line in output.traceback if "/tmp" not in line or "Cell" in line]
    nbformat.write(notebook, HERE / "nbformat4.ipynb")
    # Images are long, and version 3 has them in the same form.
    for cell in notebook.cells:
        cell.outputs = [o for o in cell.get("outputs", []) if "image/png" not in o.get("data", {})]
    old = nbformat.convert(notebook, 3)
    (HERE / "nbformat3.ipynb").write_text(nbformat.v3.writes_json(old))


def descriptions():
    from typing import Annotated, Literal

    import yaml
    from apispec import APISpec
    from fastapi import Body, FastAPI, Path as PathParameter, Query
    from fastapi.security import HTTPBearer
    from fastapi import Depends
    from pydantic import BaseModel, Field

    class Lake(BaseModel):
        """A body of water."""

        name: str = Field(description="As people call it")
        depth: float | None = Field(None, description="In **metres**")
        kind: Literal["fresh", "salt"] = "fresh"
        outflow: "Lake | None" = None
        tags: list[str] = []

    app = FastAPI(title="Lakes", version="1.2.3", summary="All lakes",
                  description="Reads and writes *lakes*.\n\n- one\n- two",
                  servers=[{"url": "https://api.example.com/v1", "description": "Production"}])

    @app.get("/lakes", tags=["read"], summary="List lakes")
    def lakes(limit: Annotated[int, Query(le=100, description="How many")] = 10,
              kind: Annotated[list[str] | None, Query()] = None) -> list[Lake]:
        """Gives lakes, the *deepest* first."""

    @app.put("/lakes/{lake_id}", tags=["write"], deprecated=True, status_code=201,
             dependencies=[Depends(HTTPBearer())])
    def put_lake(lake_id: Annotated[str, PathParameter(description="Its `name`")], lake: Annotated[Lake, Body()]) -> Lake:
        """Writes a lake."""

    (HERE / "fastapi.json").write_text(json.dumps(app.openapi()))

    old = APISpec(title="Rivers", version="0.9", openapi_version="2.0",
                  info={"description": "Rivers, as *Swagger* has them."},
                  host="api.example.com", basePath="/v2", schemes=["https"])
    old.components.schema("River", {"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "length": {"type": "integer", "format": "int64"}, "into": {"$ref": "#/definitions/River"}}})
    old.components.parameter("page", "query", {"type": "integer", "name": "page", "description": "From 1"})
    old.path("/rivers", operations={
        "get": {"summary": "List rivers", "parameters": ["page"],
                "responses": {"200": {"description": "Some", "schema": {"type": "array", "items": "River"}}}},
        "post": {"parameters": [{"in": "body", "name": "river", "required": True, "schema": "River"}],
                 "responses": {"201": {"description": "Made"}}}})
    (HERE / "apispec.yaml").write_text(yaml.safe_dump(old.to_dict(), sort_keys=False))


def tables():
    import pandas

    with open(HERE / "csv-module.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "note, long", "depth"])
        writer.writerow(["Baikal", "says \"deep\"\nand cold", 1642])
        writer.writerow(["a|b", "", ""])
    frame = pandas.DataFrame({"lake": ["Baikal", "Genfersee"], "depth": [1642.5, 310], "at": ["Россия", "Léman"]})
    frame.to_csv(HERE / "pandas-semicolon.csv", sep=";", decimal=",", encoding="utf-16")


MARKDOWN = """---
title: On lakes
author: Ana Lake
date: 2024-05-06
---

# Part one

A paragraph with *italic*, **bold**, ~~gone~~, `code` and a [link](https://example.com/a?b=1&c=2).
It has a note.[^1] H~2~O and x^2^.

- one
- two
    1. first
    2. second
- three

## Part two

| Lake   | Depth |
|--------|------:|
| Baikal |  1642 |
| a \\| b |       |

> Quoted text.

```python
def depth():
    return 1642
```

[^1]: The note, with *style*.
"""


def documents():
    import docx
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    subprocess.run(["pandoc", "-f", "markdown", "-o", HERE / "pandoc.docx"], input=MARKDOWN.encode(), check=True)

    document = docx.Document()
    document.core_properties.title = "Rivers"
    document.core_properties.author = "Ana Lake"
    document.add_heading("Rivers", 0)
    document.add_heading("First part", 1)
    paragraph = document.add_paragraph("Plain, ")
    paragraph.add_run("bold").bold = True
    paragraph.add_run(" and ")
    paragraph.add_run("italic").italic = True
    paragraph.add_run(". ")
    for kind, name, word in [("w:ins", "w:t", "added"), ("w:del", "w:delText", "removed")]:
        change = OxmlElement(kind)
        change.set(qn("w:id"), "1")
        change.set(qn("w:author"), "Ana")
        run = OxmlElement("w:r")
        text = OxmlElement(name)
        text.text = word
        run.append(text)
        change.append(run)
        paragraph._p.append(change)
    document.add_paragraph("bullet one", style="List Bullet")
    document.add_paragraph("bullet two", style="List Bullet")
    document.add_paragraph("deeper", style="List Bullet 2")
    document.add_paragraph("number one", style="List Number")
    document.add_paragraph("number two", style="List Number")
    table = document.add_table(rows=3, cols=3)
    for y in range(3):
        for x in range(3):
            table.cell(y, x).text = f"{y}{x}"
    table.cell(0, 0).merge(table.cell(0, 1))
    table.cell(1, 2).merge(table.cell(2, 2))
    document.add_paragraph("first line\nsecond line\twith a tab")
    document.save(HERE / "python-docx.docx")


for make in [feeds, notebooks, descriptions, tables, documents]:
    make()
