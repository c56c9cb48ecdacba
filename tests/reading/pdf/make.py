"""Creates the PDFs for the measurement of PDF reading, and the expected output of each.

    python make.py OUT [NAME…]

The texts are in words.py. A document is a list of blocks. Each producer lays out the same blocks in its own
way, and the expected Markdown is derived from the blocks alone.
"""

import html
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import words as w

# --- expected output ----------------------------------------------------------------------------


def markdown(blocks):
    out = []
    for kind, *rest in blocks:
        if kind == "h":
            out.append("#" * rest[0] + " " + rest[1])
        elif kind == "p":
            out.append(rest[0])
        elif kind == "ul":
            out.append("\n".join("- " + item for item in rest[0]))
        elif kind == "ol":
            out.append("\n".join(f"{n}. {item}" for n, item in enumerate(rest[0], 1)))
        elif kind == "code":
            out.append("```\n" + rest[0] + "\n```")
        elif kind == "table":
            rows = ["| " + " | ".join(row) + " |" for row in rest[0]]
            out.append("\n".join([rows[0], "|" + " --- |" * len(rest[0][0]), *rows[1:]]))
        elif kind == "line":
            out.append(rest[0])
    return "\n\n".join(out) + "\n"


def sections(numbers, heads, first, each, level=2):
    """Returns sections with several paragraphs each."""
    blocks = []
    at = first
    for n, head in enumerate(heads, 1):
        blocks.append(("h", level, f"{n} {head}" if numbers else head))
        for _ in range(each):
            blocks.append(("p", w.P[at % len(w.P)]))
            at += 1
    return blocks


# --- LaTeX --------------------------------------------------------------------------------------

TEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$"}


def tex(text):
    return "".join(TEX.get(c, c) for c in text)


def tex_table(rows, ruled):
    columns = len(rows[0])
    line = lambda row: " & ".join(map(tex, row)) + r" \\"
    if ruled == "grid":
        spec = "|" + "l|" * columns
        body = "\n\\hline\n".join(map(line, rows))
        return f"\\begin{{tabular}}{{{spec}}}\\hline\n{body}\\hline\n\\end{{tabular}}"
    spec = "l" * columns
    body = "\n".join(map(line, rows[1:]))
    return (
        f"\\begin{{tabular}}{{{spec}}}\\toprule\n{line(rows[0])}\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}"
    )


def tex_body(blocks, numbered=True):
    names = {2: "section", 3: "subsection", 4: "subsubsection"}
    out = []
    for kind, *rest in blocks:
        if kind == "h" and rest[0] in names:
            text = rest[1].split(" ", 1)[1] if numbered else rest[1]
            out.append(f"\\{names[rest[0]]}{'' if numbered else '*'}{{{tex(text)}}}")
        elif kind == "p":
            out.append(tex(rest[0]))
        elif kind == "raw":
            out.append(rest[0])
        elif kind in ("ul", "ol"):
            name = "itemize" if kind == "ul" else "enumerate"
            items = "\n".join("\\item " + tex(item) for item in rest[0])
            out.append(f"\\begin{{{name}}}\n{items}\n\\end{{{name}}}")
        elif kind == "code":
            out.append("\\begin{verbatim}\n" + rest[0] + "\n\\end{verbatim}")
        elif kind == "table":
            out.append("\\begin{center}" + tex_table(rest[0], "rules") + "\\end{center}")
    return "\n\n".join(out)


def latex(path, text, runs=2):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "x.tex").write_text(text)
        env = {**os.environ, "SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1"}
        for _ in range(runs):
            done = subprocess.run(
                ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "x.tex"],
                cwd=folder, env=env, capture_output=True, text=True,
            )
            if done.returncode:
                sys.exit(done.stdout[-2000:])
        shutil.copy(pathlib.Path(folder, "x.pdf"), path)


HEAD = r"""\documentclass[%s]{article}
\usepackage{booktabs}\usepackage{fancyhdr}\usepackage{hyperref}
%s\title{%s}\author{%s}\date{}
\begin{document}"""


def article(path):
    blocks = sections(True, ["Boards and Books", "Instruments", "Floods"], 0, 3)
    latex(path, HEAD % ("a4paper", "", w.TITLE, w.AUTHOR) + "\\maketitle\n" + tex_body(blocks) + "\\end{document}")
    return [("h", 1, w.TITLE), ("line", w.AUTHOR), *blocks]


def two_columns(path):
    blocks = sections(True, ["Boards and Books", "Instruments", "Floods", "Forecasts", "Errors"], 0, 4)
    abstract = w.P[20]
    text = HEAD % ("twocolumn,10pt", "", w.TITLE, w.AUTHOR)
    text += f"\\twocolumn[\\maketitle\\begin{{quote}}{tex(abstract)}\\end{{quote}}\\vspace{{2em}}]\n"
    latex(path, text + tex_body(blocks) + "\\end{document}")
    return [("h", 1, w.TITLE), ("line", w.AUTHOR), ("p", abstract), *blocks]


def wide_table(path):
    one = sections(True, ["Boards and Books", "Instruments"], 2, 4)
    two = sections(True, ["Floods"], 12, 3)
    two[0] = ("h", 2, "3 Floods")
    wide = [[*row, extra] for row, extra in zip(w.TABLE, ["Remarks", "first board of oak", "beside the bridge", "at the mill", "broken by ice", "under tide"])]
    top = "\\twocolumn[\\begin{center}" + tex_table(wide, "rules") + "\\end{center}\\vspace{1em}]\n"
    caption = ("p", "This page begins with a table of all stations that reaches across both columns.")
    text = HEAD % ("twocolumn,10pt", "", w.TITLE, w.AUTHOR) + top + tex_body([caption, *one, *two]) + "\\end{document}"
    latex(path, text)
    return [("table", wide), caption, *one, *two]


def ruled(path):
    blocks = [
        ("h", 2, "1 Stations"), ("p", w.P[1]), ("table", w.TABLE), ("p", w.P[2]),
        ("h", 2, "2 Stations again, in a grid"), ("p", w.P[3]),
        ("raw", "\\begin{center}" + tex_table(w.TABLE, "grid") + "\\end{center}"), ("p", w.P[4]),
    ]
    latex(path, HEAD % ("a4paper", "", "", "") + tex_body(blocks) + "\\end{document}")
    return [("table", w.TABLE) if kind == "raw" else (kind, *rest) for kind, *rest in blocks]


def book(path):
    chapters = ["Boards and Books", "Instruments", "Floods", "Forecasts"]
    blocks, expected, at = [], [], 0
    for n, name in enumerate(chapters, 1):
        blocks.append(("raw", f"\\chapter{{{name}}}"))
        expected += [("line", f"Chapter {n}"), ("h", 1, name)]
        for m, section in enumerate(["What was done", "What was found"], 1):
            for kind in (blocks, expected):
                kind.append(("h", 2, f"{n}.{m} {section}"))
            for _ in range(5):
                text = w.P[at % len(w.P)]
                at += 1
                blocks.append(("p", text))
                expected.append(("p", text))
        note = f"See the book of {name.lower()}, which lies in the archive."
        blocks[-1] = ("raw", tex(blocks[-1][1]) + f"\\footnote{{{note}}}")
        expected.append(("p", note))
    text = r"""\documentclass[a5paper,openany]{book}\usepackage{hyperref}
\begin{document}\tableofcontents """
    latex(path, text + tex_body(blocks) + "\\end{document}", runs=3)
    return [("h", 1, "Contents"), *expected]


def maths(path):
    formula = r"\[ h(t) = h_0 + \sum_{i=1}^{n} a_i \, e^{-t/k_i} \]"
    inline = r"Here $h_0$ is the level at the beginning, $k_i$ the time of each reservoir, and $n = 3$ their number."
    blocks = [
        ("h", 2, "1 The model"), ("p", w.P[10]), ("raw", formula), ("raw", inline), ("p", w.P[11]),
        ("h", 2, "2 Its errors"), ("raw", r"The error $\epsilon = h - \hat h$ is below $10^{-2}$ metres on most days."), ("p", w.P[9]),
    ]
    latex(path, HEAD % ("a4paper", "", "", "") + tex_body(blocks) + "\\end{document}")
    # The formula has no unambiguous form in words.
    return [
        ("h", 2, "1 The model"), ("p", w.P[10]), ("p", w.P[11]), ("h", 2, "2 Its errors"), ("p", w.P[9]),
    ]


def slides(path):
    pages = [("Why boards", w.BULLETS[:3]), ("How to read a pen", w.STEPS), ("What is next", ["Four stations", "Two sensors each", "One fire engine"])]
    frames = "".join(
        f"\\begin{{frame}}{{{title}}}\\begin{{itemize}}" + "".join("\\item " + tex(item) for item in items) + "\\end{itemize}\\end{frame}\n"
        for title, items in pages
    )
    text = "\\documentclass{beamer}\\usetheme{Madrid}\\usepackage[T1]{fontenc}\\title[Gauges]{%s}\\author{%s}\\date{}\\begin{document}\\frame{\\titlepage}%s\\end{document}"
    latex(path, text % (w.TITLE, w.AUTHOR, frames))
    blocks = [("h", 1, w.TITLE), ("line", w.AUTHOR)]
    for title, items in pages:
        blocks += [("h", 1, title), ("ul", items)]
    return blocks


# --- typst --------------------------------------------------------------------------------------


def typ(text):
    return "".join("\\" + c if c in "#$*_`<>@[]\\~" else c for c in text)


def typ_body(blocks, table=""):
    out = []
    for kind, *rest in blocks:
        if kind == "h":
            out.append("=" * rest[0] + " " + typ(rest[1]))
        elif kind == "p":
            out.append(typ(rest[0]))
        elif kind == "ul":
            out.append("\n".join("- " + typ(item) for item in rest[0]))
        elif kind == "ol":
            out.append("\n".join("+ " + typ(item) for item in rest[0]))
        elif kind == "code":
            out.append("```\n" + rest[0] + "\n```")
        elif kind == "raw":
            out.append(rest[0])
        elif kind == "table":
            cells = ", ".join(f"[{typ(cell)}]" for row in rest[0] for cell in row)
            out.append(f"#table({table}{cells})")
    return "\n\n".join(out)


def typst_pdf(path, text):
    import typst

    pathlib.Path(path).write_bytes(typst.compile(text.encode()))


def three_columns(path):
    blocks = sections(False, ["Boards and Books", "Instruments", "Floods", "Forecasts"], 4, 4)
    top = f'#set page(paper: "a4", margin: 1.5cm)\n#set text(size: 8.5pt, hyphenate: true)\n#set par(justify: true)\n#align(center)[#text(size: 20pt, weight: "bold")[{w.TITLE}]]\n#columns(3, gutter: 12pt)[\n'
    typst_pdf(path, top + typ_body(blocks) + "\n]")
    return [("h", 1, w.TITLE), *blocks]


def unruled(path):
    blocks = [
        ("h", 1, "Parts of a station"), ("p", w.P[4]), ("table", w.WRAPPED), ("p", w.P[5]),
        ("h", 1, "Stations"), ("table", w.TABLE), ("p", w.P[8]),
    ]
    plain = "stroke: none, columns: %s, "
    text = "#set page(paper: \"a4\")\n"
    text += typ_body(blocks[:4], plain % "(auto, auto, 1fr)") + "\n\n" + typ_body(blocks[4:], plain % "5")
    typst_pdf(path, text)
    return blocks


def chinese(path):
    blocks = [("h", 1, "河流的水尺"), *[("p", text) for text in w.CHINESE], ("h", 1, "传感器"), ("p", w.CHINESE[2] + w.CHINESE[1])]
    typst_pdf(path, '#set page(paper: "a5")\n#set text(font: "Noto Sans CJK SC", lang: "zh", size: 11pt)\n' + typ_body(blocks))
    return blocks


# --- HTML ---------------------------------------------------------------------------------------


def page(blocks, style="", lang="en"):
    out = [f"<!doctype html><html lang={lang}><meta charset=utf-8><title>{w.TITLE}</title><style>{style}</style><body>"]
    for kind, *rest in blocks:
        text = html.escape(rest[0]) if isinstance(rest[0], str) else ""
        if kind == "h":
            out.append(f"<h{rest[0]}>{html.escape(rest[1])}</h{rest[0]}>")
        elif kind in ("p", "line"):
            out.append(f"<p>{text}</p>")
        elif kind in ("ul", "ol"):
            out.append(f"<{kind}>" + "".join(f"<li>{html.escape(item)}</li>" for item in rest[0]) + f"</{kind}>")
        elif kind == "code":
            out.append(f"<pre>{text}</pre>")
        elif kind == "raw":
            out.append(rest[0])
        elif kind == "table":
            rows = ["".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) for row, tag in zip(rest[0], ["th"] + ["td"] * len(rest[0]))]
            out.append("<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>")
    return "\n".join(out)


def chromium(path, text):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "x.html")
        source.write_text(text)
        subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={folder}/profile",
             f"--print-to-pdf={path}", source.as_uri()], check=True, capture_output=True,
        )


def weasy(path, text):
    import weasyprint

    weasyprint.HTML(string=text).write_pdf(path)


def lists(path):
    link = '<p>The forms are at <a href="https://example.com/forms">the office of the river</a>.</p>'
    blocks = [
        ("h", 1, "Work at a gauge"), ("p", w.P[2]), ("h", 2, "Each day"), ("ul", w.BULLETS), ("h", 2, "Each week"), ("p", w.P[18]), ("ol", w.STEPS),
        ("h", 3, "Where the forms are"), ("raw", link),
    ]
    chromium(path, page(blocks))
    return [*blocks[:-1], ("p", "The forms are at [the office of the river](https://example.com/forms).")]


def code(path):
    blocks = [
        ("h", 1, "Reading levels by program"), ("p", w.P[12]), ("h", 2, "The mean"), ("code", w.CODE), ("p", w.P[13]),
        ("h", 2, "On the command line"), ("code", "$ gauge read --station 7\n412.53 m\n$ gauge send"), ("p", w.P[14]),
    ]
    weasy(path, page(blocks, "pre { font-size: 9pt; background: #eee } body { font-size: 11pt; text-align: justify }"))
    return blocks


def hebrew(path):
    blocks = [("h", 1, "לוחות הנהר"), *[("p", text) for text in w.HEBREW]]
    chromium(path, page(blocks, "body { direction: rtl; font-family: DejaVu Sans }", "he"))
    return blocks


# --- drawing libraries --------------------------------------------------------------------------


def canvas(path, size):
    from reportlab.pdfgen.canvas import Canvas

    return Canvas(str(path), pagesize=size, invariant=1)


def broken(text, font, size, width):
    from reportlab.lib.utils import simpleSplit

    return simpleSplit(text, font, size, width)


def rotated(path):
    c = canvas(path, (595, 842))
    c.setPageRotation(90)
    c.rotate(90)
    c.translate(0, -595)
    blocks = [("h", 1, "A page that lies on its side"), ("p", w.P[6]), ("table", w.TABLE), ("p", w.P[7])]
    c.setFont("Helvetica-Bold", 18)
    c.drawString(60, 520, blocks[0][2])
    y = 490
    c.setFont("Helvetica", 11)
    for text in (w.P[6], w.P[7]):
        for line in broken(text, "Helvetica", 11, 700):
            c.drawString(60, y, line)
            y -= 14
        y -= 16
        if text == w.P[6]:
            for row in w.TABLE:
                for x, cell in zip((60, 200, 300, 420, 560), row):
                    c.drawString(x, y, cell)
                y -= 16
            y -= 10
    c.save()
    return blocks


def form(path):
    c = canvas(path, (595, 842))
    c.setFont("Helvetica-Bold", 16)
    c.drawString(60, 770, "Report of a reading")
    c.setFont("Helvetica", 10)
    fields = [("Station", "Fennick"), ("Date", "3 March 1998"), ("Level", "412 cm"), ("Weather", "snow, wind from the west"), ("Read by", "R. Vale")]
    y = 730
    for name, value in fields:
        c.setFont("Helvetica", 10)
        c.drawString(60, y, name + ":")
        c.setFont("Courier", 10)
        c.drawString(160, y, value)
        c.line(158, y - 3, 400, y - 3)
        y -= 24
    c.setFont("Helvetica", 10)
    for line in broken(w.P[14], "Helvetica", 10, 460):
        c.drawString(60, y, line)
        y -= 13
    c.save()
    return [("h", 1, "Report of a reading"), *[("line", f"{name}: {value}") for name, value in fields], ("p", w.P[14])]


def out_of_order(path):
    """Draws the lower half first, and the columns line by line from left to right."""
    c = canvas(path, (595, 842))
    left, right = [], []
    for column, texts in ((left, (w.P[0], w.P[1], w.P[2], w.P[3])), (right, (w.P[4], w.P[5], w.P[6], w.P[7]))):
        for text in texts:
            column += [*broken(text, "Times-Roman", 10, 225), ""]
    lines = [(n, x, text) for n in range(max(len(left), len(right))) for x, column in ((60, left), (310, right)) for text in column[n : n + 1]]
    half = len(lines) // 2
    c.setFont("Times-Roman", 10)
    for n, x, text in lines[half:] + lines[:half]:
        c.drawString(x, 720 - 12 * n, text)
    c.setFont("Times-Bold", 20)
    c.drawString(120, 770, w.TITLE)
    c.save()
    return [("h", 1, w.TITLE), *[("p", w.P[n]) for n in range(8)]]


# --- held-out set -------------------------------------------------------------------------------


def held_groff(path):
    """Two columns of troff, with custom running heads."""
    blocks = sections(True, ["Instruments", "Floods", "Forecasts"], 3, 5)
    lines = [".RP no", ".ds CH The gauges", ".TL", w.TITLE, ".AU", w.AUTHOR, ".2C"]
    for kind, *rest in blocks:
        lines += [".NH 1", rest[1].split(" ", 1)[1]] if kind == "h" else [".PP", rest[0].replace("'", "\\[cq]")]
    with open(path, "wb") as file:
        file.write(subprocess.run(["groff", "-ms", "-Tpdf"], input=("\n".join(lines) + "\n").encode(), capture_output=True, check=True).stdout)
    numbered = [("h", rest[0], rest[1].replace(" ", ". ", 1)) if kind == "h" else (kind, *rest) for kind, *rest in blocks]
    return [("h", 1, w.TITLE), ("line", w.AUTHOR), *numbered]


def held_newspaper(path):
    """Browser output in ragged columns, with a table and a list in them."""
    first = [("h", 2, "Boards"), ("p", w.P[1]), ("p", w.P[2]), ("ul", w.BULLETS), ("p", w.P[3]), ("h", 2, "Floods"), ("p", w.P[6]), ("p", w.P[7]), ("p", w.P[8]), ("p", w.P[9])]
    last = [("h", 2, "All stations"), ("table", w.TABLE), ("p", w.P[21])]
    style = "body { font-family: DejaVu Serif; font-size: 10pt } .c { columns: 2; column-gap: 8mm } h1 { text-align: center } td, th { padding: 2px 12px; text-align: left; border-bottom: 1px solid #999 }"
    inner = page(first).split("<body>")[1]
    chromium(path, page([("h", 1, w.TITLE), ("raw", f"<div class=c>{inner}</div>"), *last], style))
    return [("h", 1, w.TITLE), *first, *last]


def held_report(path):
    """Report of several pages with headers and footers, and a table that spans a page break."""
    rows = [["No.", "Date", "Level", "Remark"]]
    rows += [[str(n), f"{1 + n % 28} March 19{10 + n}", f"{200 + 7 * n % 90} cm", ["clear", "ice at the banks", "wind from the west"][n % 3]] for n in range(1, 41)]
    blocks = [("h", 1, "Report on the year"), ("p", w.P[9]), ("p", w.P[10]), ("h", 2, "Readings"), ("table", rows), ("p", w.P[13]), ("h", 2, "Remarks"), ("p", w.P[14]), ("ol", w.STEPS), ("p", w.P[15]), ("p", w.P[16])]
    style = """@page { size: A5; margin: 2cm; @top-left { content: "Office of the river"; font-size: 8pt } @top-right { content: "Report" ; font-size: 8pt }
    @bottom-center { content: "page " counter(page) " of " counter(pages); font-size: 8pt } } body { font: 10pt DejaVu Serif; text-align: justify; hyphens: auto } td, th { padding: 1pt 8pt; text-align: left }"""
    weasy(path, page(blocks, style))
    return blocks


def held_paper(path):
    """Two columns of typst with a note, code and a table in a column."""
    note = "The book of 1926 is lost."
    small = [row[:3] for row in w.TABLE]
    blocks = [("h", 1, "1 Boards"), ("p", w.P[0]), ("raw", typ(w.P[1]) + f"#footnote[{note}]"), ("p", w.P[2]), ("table", small), ("p", w.P[3]), ("h", 1, "2 Programs"), ("p", w.P[12]), ("code", w.CODE.replace('    """Returns the mean level in metres."""\n', "")), ("p", w.P[13]), ("p", w.P[14]), ("h", 1, "3 Future"), ("p", w.P[19]), ("p", w.P[20])]
    top = f'#set page(paper: "a4", margin: 2cm, columns: 2, numbering: "1 / 1")\n#set text(size: 10pt)\n#set par(justify: true, first-line-indent: 1em)\n#place(top + center, scope: "parent", float: true)[#text(size: 18pt)[{w.TITLE}]\n\n{w.AUTHOR}]\n'
    typst_pdf(path, top + typ_body(blocks, "columns: 3, stroke: 0.5pt, "))
    expected = [("p", w.P[1]) if kind == "raw" else (kind, *rest) for kind, *rest in blocks]
    return [("h", 1, w.TITLE), ("line", w.AUTHOR), *expected[:4], *expected[4:], ("p", note)]


def held_manual(path):
    """Manual from fpdf2: headings, lists with wide margins, and a table with borders and wrapped cells."""
    import datetime

    import fpdf

    pdf = fpdf.FPDF(format="A4")
    pdf.set_creation_date(datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc))
    pdf.set_margin(25)
    pdf.add_page()
    blocks = [("h", 1, "How to keep a gauge"), ("p", w.P[17]), ("h", 2, "1.1 The rounds"), ("ul", w.BULLETS), ("p", w.P[18]), ("h", 2, "1.2 The parts"), ("table", w.WRAPPED), ("h", 2, "1.3 The valve"), ("ol", w.STEPS), ("p", w.P[5]), ("p", w.P[6]), ("p", w.P[7])]
    for kind, *rest in blocks:
        if kind == "h":
            pdf.set_font("helvetica", "B", 18 if rest[0] == 1 else 13)
            pdf.multi_cell(0, 9, rest[1], new_x="LMARGIN", new_y="NEXT")
            pdf.ln(2)
        pdf.set_font("helvetica", size=11)
        if kind == "p":
            pdf.multi_cell(0, 5.5, rest[0], align="J", new_x="LMARGIN", new_y="NEXT")
            pdf.ln(3)
        elif kind in ("ul", "ol"):
            for n, item in enumerate(rest[0], 1):
                pdf.set_x(32)
                pdf.cell(8, 5.5, "-" if kind == "ul" else f"{n}.")
                pdf.multi_cell(0, 5.5, item, align="L", new_x="LMARGIN", new_y="NEXT")
            pdf.ln(3)
        elif kind == "table":
            with pdf.table(col_widths=(20, 20, 60), line_height=6) as table:
                for row in rest[0]:
                    cells = table.row()
                    for cell in row:
                        cells.cell(cell)
            pdf.ln(3)
    pdf.output(str(path))
    return blocks


# --- second held-out set --------------------------------------------------------------------------


def fresh_journal(path):
    """Two narrow columns with unnumbered headings in capitals, a table in one column and numbered
    references."""
    heads = ["BOARDS", "INSTRUMENTS", "FORECASTS"]
    references = [f"Miller, A. and Stone, B.: {text.split('.')[0]}. Letters of the River {n}, 19{30 + n}." for n, text in enumerate(w.P[12:18], 1)]
    blocks = [("h", 2, heads[0]), ("p", w.P[1]), ("p", w.P[2]), ("p", w.P[3]), ("h", 2, heads[1]), ("p", w.P[4]), ("p", w.P[5])]
    rest = [("p", w.P[10]), ("p", w.P[11]), ("h", 2, heads[2]), ("p", w.P[9]), ("p", w.P[6]), ("p", w.P[7]), ("p", w.P[8])]
    small = [[row[0], row[1], row[4]] for row in w.TABLE]
    text = HEAD % ("twocolumn,9pt,a4paper", "\\renewcommand{\\familydefault}{\\sfdefault}\\pagestyle{empty}", w.TITLE, w.AUTHOR)
    body = tex_body(blocks, False) + "\n\n" + "{\\centering\\small " + tex_table(small, "rules") + "\\par}\n\n" + tex_body(rest, False)
    body += "\\section*{REFERENCES}\\begin{list}{}{\\setlength{\\leftmargin}{1.5em}\\setlength{\\labelwidth}{1.2em}}" + "".join(f"\\item[{n}.] {tex(one)}" for n, one in enumerate(references, 1)) + "\\end{list}"
    latex(path, text + "\\maketitle\\thispagestyle{empty}" + body + "\\end{document}")
    return [("h", 1, w.TITLE), ("line", w.AUTHOR), *blocks, ("table", small), *rest, ("h", 2, "REFERENCES"), ("ol", references)]


def fresh_newsletter(path):
    """Wide column next to a narrow one, followed by two columns."""
    main = [("h", 2, "The flood of the year"), ("p", w.P[7]), ("p", w.P[6]), ("p", w.P[8]), ("p", w.P[3])]
    side = [("h", 2, "In short"), ("p", w.P[19]), ("p", w.P[17])]
    last = [("h", 2, "From the archive"), ("p", w.P[15]), ("p", w.P[16]), ("p", w.P[12]), ("p", w.P[13])]
    inner = lambda blocks: page(blocks).split("<body>")[1]
    style = "body { font: 9.5pt DejaVu Sans } .m { float: left; width: 62% } .s { float: right; width: 32% } .l { clear: both; columns: 2; column-gap: 9mm; text-align: justify } .l h2 { column-span: all }"
    weasy(path, page([("h", 1, "Letter of the river"), ("raw", f"<div class=m>{inner(main)}</div><div class=s>{inner(side)}</div><div class=l>{inner(last)}</div>")], style))
    return [("h", 1, "Letter of the river"), *main, *side, *last]


def fresh_platypus(path):
    """Frames of reportlab with a grid with wrapped cells, and headers on every page."""
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph, Spacer, Table

    styles = getSampleStyleSheet()
    blocks = [("h", 1, "Parts and stations"), ("p", w.P[17]), ("h", 2, "Parts"), ("table", w.WRAPPED), ("p", w.P[4]), ("p", w.P[5]), ("h", 2, "Stations"), ("table", w.TABLE), ("p", w.P[10]), ("p", w.P[11]), ("p", w.P[12]), ("p", w.P[13]), ("p", w.P[14]), ("p", w.P[15]), ("p", w.P[16])]
    story = []
    for kind, *rest in blocks:
        if kind == "h":
            story.append(Paragraph(rest[1], styles[f"Heading{rest[0]}"]))
        elif kind == "p":
            story += [Paragraph(rest[0], styles["BodyText"]), Spacer(1, 4)]
        else:
            rows = [[Paragraph(cell, styles["BodyText"]) for cell in row] for row in rest[0]]
            widths = [70, 60, 260] if len(rest[0][0]) == 3 else None
            story += [Table(rows, colWidths=widths, style=[("GRID", (0, 0), (-1, -1), 0.5, (0, 0, 0)), ("VALIGN", (0, 0), (-1, -1), "TOP")]), Spacer(1, 8)]

    def head(c, document):
        c.setFont("Helvetica", 8)
        c.drawString(72, 810, "Office of the river")
        c.drawRightString(523, 810, f"Page {document.page}")

    document = BaseDocTemplate(str(path), pagesize=(595, 842), invariant=1)
    document.addPageTemplates([PageTemplate(frames=[Frame(72, 72, 451, 720)], onPage=head)])
    document.build(story)
    return blocks


def fresh_thesis(path):
    """Thesis from typst: outline, numbered headings in three levels, notes, inline code, nested lists."""
    blocks = [("h", 1, "1 Water"), ("p", w.P[0]), ("h", 2, "1.1 Boards"), ("p", w.P[1]), ("p", w.P[2]), ("h", 3, "1.1.1 Wood"), ("p", w.P[3]), ("h", 2, "1.2 Pipes"), ("p", w.P[4]), ("ul", w.BULLETS), ("p", w.P[5]), ("h", 1, "2 Numbers"), ("p", w.P[12]), ("code", w.CODE), ("p", w.P[13]), ("ol", w.STEPS), ("p", w.P[14])]
    source = [("h", rest[0], rest[1].split(" ", 1)[1]) if kind == "h" else (kind, *rest) for kind, *rest in blocks]
    top = '#set page(paper: "a5", numbering: "1", header: align(right)[#smallcaps[The gauges]])\n#set heading(numbering: "1.1")\n#set text(font: "Libertinus Serif", size: 10pt)\n#outline(title: [Contents])\n#pagebreak()\n'
    typst_pdf(path, top + typ_body(source))
    entries = [("line", rest[1]) for kind, *rest in blocks if kind == "h"]
    return [("h", 1, "Contents"), *entries, *blocks]


def fresh_leaflet(path):
    """Landscape leaflet from a browser: three columns with headings, one with a table."""
    blocks = [("h", 2, "Boards"), ("p", w.P[1]), ("p", w.P[2]), ("h", 2, "Stations"), ("table", [row[:3] for row in w.TABLE]), ("h", 2, "Steps"), ("ol", w.STEPS), ("h", 2, "Floods"), ("p", w.P[6]), ("p", w.P[8]), ("h", 2, "Trust"), ("p", w.P[14])]
    style = "@page { size: A4 landscape; margin: 12mm } body { font: 10.5pt DejaVu Sans; columns: 3; column-gap: 12mm; column-fill: auto; height: 170mm } td, th { padding: 1px 8px 1px 0; text-align: left }"
    chromium(path, page(blocks, style))
    return blocks


ALL = {
    "article": article, "two-columns": two_columns, "three-columns": three_columns, "wide-table": wide_table, "ruled": ruled,
    "unruled": unruled, "book": book, "maths": maths, "slides": slides, "lists": lists, "code": code, "chinese": chinese,
    "hebrew": hebrew, "rotated": rotated, "form": form, "out-of-order": out_of_order,
    "held-groff": held_groff, "held-newspaper": held_newspaper, "held-report": held_report, "held-paper": held_paper, "held-manual": held_manual,
    "fresh-journal": fresh_journal, "fresh-newsletter": fresh_newsletter, "fresh-platypus": fresh_platypus, "fresh-thesis": fresh_thesis, "fresh-leaflet": fresh_leaflet,
}


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or ALL:
        blocks = ALL[name](out / f"{name}.pdf")
        (out / f"{name}.md").write_text(markdown(blocks))


if __name__ == "__main__":
    main()
