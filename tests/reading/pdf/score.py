"""Scores extracted texts against the expected ones: python score.py EXPECTED READINGS…

EXPECTED contains NAME.md; each folder of READINGS contains one NAME.md per document. Prints four scores in
percent:
  order   words in their order: F1 of the longest common subsequence
  heads   headings recognized as Markdown headings: F1
  rows    table rows with their cells in order on one line, without other content
  paras   paragraphs and items on exactly one line, without other content
"""

import pathlib
import re
import sys
import unicodedata


def norm(text):
    text = unicodedata.normalize("NFKC", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    # Languages without spaces are compared character by character.
    text = re.sub(r"([\u2e80-\u9fff])", r" \1 ", text)
    return re.findall(r"\w+", text.lower())


def words(text):
    text = re.sub(r"^\[PDF page \d+\]$|^\|[ |:-]+\|$|^```\w*$|^<!--.*-->$|^---$|^Note: .*$", "", text, flags=re.M)
    return norm(text)


def common(a, b):
    """Returns the length of the longest common subsequence, bit-parallel (Hyyrö 2004)."""
    places = {}
    for n, word in enumerate(a):
        places[word] = places.get(word, 0) | 1 << n
    full = (1 << len(a)) - 1
    row = full
    for word in b:
        hit = row & places.get(word, 0)
        row = ((row + hit) | (row - hit)) & full
    return len(a) - bin(row).count("1")


def f1(hit, given, wanted):
    return 2 * hit / (given + wanted) if given + wanted else 1.0


def headings(text):
    inside, found = False, []
    for line in text.splitlines():
        inside ^= line.startswith("```")
        if not inside and (m := re.match(r"#{1,6} (.*)", line)):
            found.append(" ".join(norm(m[1])))
    return found


def hits(wanted, given):
    left = list(given)
    count = 0
    for item in wanted:
        if item in left:
            left.remove(item)
            count += 1
    return count


def score(expected, reading):
    a, b = words(expected), words(reading)
    result = {"order": f1(common(a, b), len(a), len(b))}
    heads, found = headings(expected), headings(reading)
    if heads:
        result["heads"] = f1(hits(heads, found), len(heads), len(found))
    lines = [" ".join(norm(line)) for line in reading.splitlines()]
    rows = [" ".join(norm(line)) for line in expected.splitlines() if line.startswith("|") and not re.match(r"\|[ |-]+$", line)]
    if rows:
        result["rows"] = hits(rows, lines) / len(rows)
    paras = re.sub(r"```.*?```", "", expected, flags=re.S).splitlines()
    paras = [" ".join(norm(line)) for line in paras if line and not line.startswith(("|", "#"))]
    paras = [para for para in paras if para]
    if paras:
        result["paras"] = hits(paras, lines) / len(paras)
    return result


KEYS = ("order", "heads", "rows", "paras")


def main():
    expected = {path.stem: path.read_text() for path in sorted(pathlib.Path(sys.argv[1]).glob("*.md"))}
    for folder in map(pathlib.Path, sys.argv[2:]):
        scores = {}
        for name, text in expected.items():
            path = folder / f"{name}.md"
            scores[name] = score(text, path.read_text(errors="replace") if path.exists() else "")
        print(f"\n{folder.name}")
        for name, values in scores.items():
            print(f"  {name:15}" + "".join(f"{key} {100 * values[key]:5.1f}  " if key in values else " " * 13 for key in KEYS))
        means = {key: [v[key] for v in scores.values() if key in v] for key in KEYS}
        print(f"  {'mean':15}" + "".join(f"{key} {100 * sum(v) / len(v):5.1f}  " for key, v in means.items() if v))


if __name__ == "__main__":
    main()
