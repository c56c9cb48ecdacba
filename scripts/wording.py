#!/usr/bin/env python3
"""Counts comments and sentences of documents that open with a relative clause, and fails above a ceiling.

"What is told …" or "Who asks …" as the subject of a sentence hides the noun that the code uses. The count covers
each block of comments in Rust files, and each sentence of the documents. usage: wording.py [--list]"""

import re
import subprocess
import sys

CEILINGS = {"comments": 3.0, "documents": 1.0}  # percent
OPENING = re.compile(
    r"(what|whatever|who|whoever|whom|whose|whether|where|why|how|which|whichever|when|those (that|who|which)"
    r"|that which|the thing that|one (that|who))\b",
    re.IGNORECASE,
)
QUESTION = re.compile(r"[^.!]*\?")
CLAUSE = re.compile(r"when\b[^.]*,", re.IGNORECASE)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\"(\[])")


def tracked(*patterns):
    command = ["git", "ls-files", "-z", *patterns]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    return [name for name in names if name and not re.search(r"(^|/)(data|testdata|golden|templates)/", name)]


def comments(path):
    """Yields the line number and the text of each block of comments."""
    begun, words = 0, []
    for number, line in enumerate([*open(path, encoding="utf-8"), ""], 1):
        comment = re.match(r"\s*//[/!]?\s?(.*)", line)
        text = comment.group(1).strip() if comment else ""
        if text:
            begun = begun or number
            words.append(text)
        elif words:
            yield begun, " ".join(words)
            begun, words = 0, []


def paragraphs(path):
    """Yields the line number and the text of each paragraph, list item and table cell, without headings and code."""
    begun, words, in_code, in_table = 0, [], False, False
    for number, line in enumerate([*open(path, encoding="utf-8"), ""], 1):
        text = line.strip()
        if text.startswith("```"):
            in_code, text = not in_code, ""
        is_item = re.match(r"([-*]|\d+\.|#+|>)\s|\|", text)
        if words and (in_code or not text or is_item):
            yield begun, " ".join(words)
            begun, words = 0, []
        if in_code or not text:
            continue
        if text.startswith("|"):
            cells = [cell.strip() for cell in text.strip("|").split("|")]
            # A head of a table may be a question without its mark.
            if in_table or (in_table := bool(re.fullmatch(r"[|\s:-]+", text))):
                yield from ((number, cell) for cell in cells if cell)
            continue
        in_table = False
        if text.startswith("#"):
            continue
        begun = begun or number
        words.append(re.sub(r"^([-*]|\d+\.|#+|>)\s+", "", text))


def sentences(path):
    for number, text in paragraphs(path):
        for sentence in SENTENCE_END.split(text):
            yield number, sentence


def is_stilted(text):
    text = text.lstrip("`*\"([_ ")
    return bool(OPENING.match(text)) and not QUESTION.fullmatch(text) and not CLAUSE.match(text)


def main():
    failed = False
    kinds = {"comments": (comments, tracked("*.rs")), "documents": (sentences, tracked("*.md"))}
    for kind, (read, paths) in kinds.items():
        texts = [(path, number, text) for path in paths for number, text in read(path)]
        found = [place for place in texts if is_stilted(place[2])]
        share = 100 * len(found) / max(1, len(texts))
        too_many = share > CEILINGS[kind]
        failed |= too_many
        if too_many or "--list" in sys.argv:
            print(f"{kind}: {len(found)} of {len(texts)} open with a relative clause ({share:.1f} %; the ceiling is {CEILINGS[kind]} %)")
            for path, number, text in found if "--list" in sys.argv else found[:20]:
                print(f"  {path}:{number}: {text[:100]}")
    sys.exit(failed)


main()
