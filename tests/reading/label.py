"""Labels the blocks of a page by aligning each block's text with the reference text."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from urllib.parse import urlparse

import numpy as np

WORD = re.compile(r"\w+")
# Shorter blocks are not searched at other positions, because they may occur in any text.
SHORT = 4


@dataclass
class Page:
    name: str
    kind: str
    url: str
    reference: list[str]
    # Words and features of each block, and the share of its words in the reference.
    blocks: list[list[str]]
    features: np.ndarray
    wanted: np.ndarray

    @property
    def site(self) -> str:
        """Site of the page. Pages of one site are never on both sides of a split."""
        return ".".join((urlparse(self.url).hostname or "").split(".")[-2:])

    @property
    def sizes(self) -> np.ndarray:
        return np.array([len(block) for block in self.blocks], float)


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def address(truth: dict) -> str:
    """Returns the page's URL, which a few pages store next to their text."""
    return truth.get("url") or truth["ground_truth"].get("url") or ""


def read(folder: Path, name: str, taken_apart: Path) -> Page:
    truth = json.loads((folder / f"ground-truth/{name}.json").read_text(encoding="utf-8"))
    texts = (taken_apart / f"{name}.txt").read_text(encoding="utf-8").split("\n")[:-1]
    blocks = [words(text) or [text] for text in texts]
    features = np.fromfile(taken_apart / f"{name}.f32", dtype=np.float32)
    features = features.reshape(len(blocks), -1) if blocks else features.reshape(0, 0)
    reference = words(truth["ground_truth"].get("main_content") or "")
    kind = truth["_internal"]["page_type"]["primary"]
    return Page(name, kind, address(truth), reference, blocks, features, align(blocks, reference))


def align(blocks: list[list[str]], reference: list[str]) -> np.ndarray:
    """Returns the share of each block's words in the reference, in order first; then searches complete blocks
    at any position."""
    owners = [index for index, block in enumerate(blocks) for _ in block]
    matched, used = [0] * len(blocks), [False] * len(reference)
    every = [word for block in blocks for word in block]
    for ours, theirs, length in SequenceMatcher(None, every, reference, autojunk=False).get_matching_blocks():
        for offset in range(length):
            matched[owners[ours + offset]] += 1
            used[theirs + offset] = True
    left = " ".join("\0" if is_used else word for word, is_used in zip(reference, used, strict=True))
    for index, block in enumerate(blocks):
        if 2 * matched[index] < len(block) and len(block) >= SHORT:
            text = " ".join(block)
            at = left.find(text)
            if at >= 0:
                matched[index] = len(block)
                left = left[:at] + "\0" * len(text) + left[at + len(text) :]
    return np.array([count / len(block) for count, block in zip(matched, blocks, strict=True)])


def f1(found: list[str], reference: list[str]) -> float:
    if not found and not reference:
        return 1.0
    both = sum((Counter(found) & Counter(reference)).values())
    return 2 * both / (len(found) + len(reference))
