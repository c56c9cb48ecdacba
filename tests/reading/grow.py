"""Trains the forests that select content for ReadDocs: grow.py PAGES BLOCKS WORK [--seeds N] [--write FOLDER]

PAGES contains pages in the format of the Web Content eXtraction Benchmark, BLOCKS is the program that splits
pages into blocks, and WORK is a directory for its output. Without --write, prints the mean F1 of unseen pages
in a five-fold cross-validation, for each seed. With it, trains the forests on all pages and writes them into
FOLDER.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import struct
import subprocess
from collections import defaultdict
from pathlib import Path

import lightgbm
import numpy as np

from label import Page, address, f1, read

FOLDS, INNER_FOLDS = 5, 3
TREES = 100
GROWTH = {
    "objective": "cross_entropy",
    "learning_rate": 0.08,
    "num_leaves": 31,
    "min_data_in_leaf": 40,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5,
    "max_bin": 127,
    "verbose": -1,
    "deterministic": True,
}
# Margin for clear cases: a block counts as unwanted if its wanted share is below CLEAR, and as wanted if the
# share exceeds 1 - CLEAR.
CLEAR = 0.2
# Weights. A page's weight depends on the length of its reference, but at least FEWEST words. A block's weight
# depends on its length, up to MOST_OF_BLOCK words, plus the constant LEAST.
FEWEST, MOST_OF_BLOCK, LEAST = 200, 200, 0.02
LEAF = 0xFFFF


class Blocks:
    """Interface to the program that splits pages into blocks."""

    def __init__(self, program: Path, folder: Path, work: Path) -> None:
        self.program, self.folder, self.work = program, folder, work
        self.lines: dict[str, str] = {}

    def pages(self) -> list[Page]:
        html, out = self.work / "html", self.work / "first"
        for path in [html, out]:
            path.mkdir(parents=True, exist_ok=True)
        names = sorted(path.stem for path in (self.folder / "ground-truth").glob("*.json"))
        for name in names:
            (html / f"{name}.html").write_bytes(gzip.open(self.folder / f"html/{name}.html.gz").read())
            self.lines[name] = f"{html / name}.html\t{self._url(name)}\n"
        self._run(names, out)
        return [read(self.folder, name, out) for name in names]

    def after(self, first: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns the features of the blocks after a first prediction."""
        out = self._after(first, "second")
        shape = {name: (len(likely), -1) for name, likely in first.items()}
        return {name: np.fromfile(out / f"{name}.f32", dtype=np.float32).reshape(shape[name]) for name in first}

    def kept(self, last: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns the blocks that are kept after the last prediction."""
        out = self._after(last, "kept", "kept")
        return {name: np.fromfile(out / f"{name}.kept", dtype=np.uint8) for name in last}

    def _after(self, judged: dict[str, np.ndarray], what: str, *arguments: str) -> Path:
        """Runs the program on a prediction and returns the directory of its output."""
        given, out = self.work / f"before-{what}", self.work / what
        for path in [given, out]:
            path.mkdir(exist_ok=True)
        for name, likely in judged.items():
            likely.astype(np.float32).tofile(given / f"{name}.f32")
        self._run(list(judged), out, given, *arguments)
        return out

    def _run(self, names: list[str], *arguments: Path | str) -> None:
        pages = self.work / "pages.tsv"
        pages.write_text("".join(self.lines[name] for name in names), encoding="utf-8")
        subprocess.run([self.program, pages, *arguments], check=True)

    def _url(self, name: str) -> str:
        url = address(json.loads((self.folder / f"ground-truth/{name}.json").read_text(encoding="utf-8"))) or "example.com"
        return url if "://" in url else f"https://{url}"


def grow(pages: list[Page], features: dict[str, np.ndarray], seed: int) -> lightgbm.Booster:
    rows = np.concatenate([features[page.name] for page in pages])
    wanted = np.concatenate([page.wanted for page in pages])
    wanted = np.clip((wanted - CLEAR) / (1 - 2 * CLEAR), 0, 1)
    weights = [
        np.minimum(page.sizes, MOST_OF_BLOCK) ** 0.9 / max(len(page.reference), FEWEST) * 100 + LEAST for page in pages
    ]
    data = lightgbm.Dataset(rows, wanted, weight=np.concatenate(weights))
    return lightgbm.train(GROWTH | {"seed": seed}, data, TREES)


def split(pages: list[Page], count: int, chance: random.Random) -> list[list[Page]]:
    """Splits the pages into parts of similar size and mixture, with each site in one part."""
    sites: dict[str, list[Page]] = defaultdict(list)
    for page in pages:
        sites[page.site].append(page)
    parts: list[list[Page]] = [[] for _ in range(count)]
    names = sorted(sites)
    chance.shuffle(names)
    for name in names:
        kind = sites[name][0].kind
        least = min(parts, key=lambda part: (sum(p.kind == kind for p in part), len(part), chance.random()))
        least += sites[name]
    return parts


def grow_both(pages: list[Page], blocks: Blocks, seed: int) -> tuple[lightgbm.Booster, lightgbm.Booster]:
    """Trains both forests. The second learns from predictions that a first forest makes for unseen pages."""
    features = {page.name: page.features for page in pages}
    unseen: dict[str, np.ndarray] = {}
    for part in split(pages, INNER_FOLDS, random.Random(seed)):
        names = {page.name for page in part}
        first = grow([page for page in pages if page.name not in names], features, seed)
        unseen |= {page.name: first.predict(page.features) for page in part}
    after = blocks.after(unseen)
    second = grow(pages, {name: np.hstack([features[name], after[name]]) for name in features}, seed)
    return grow(pages, features, seed), second


def judge(pages: list[Page], blocks: Blocks, forests: tuple[lightgbm.Booster, lightgbm.Booster]) -> dict[str, float]:
    first, second = forests
    likely = {page.name: first.predict(page.features) for page in pages}
    after = blocks.after(likely)
    last = {page.name: second.predict(np.hstack([page.features, after[page.name]])) for page in pages}
    kept = blocks.kept(last)
    return {page.name: score(page, kept[page.name]) for page in pages}


def score(page: Page, kept: np.ndarray) -> float:
    return f1([word for block, is_kept in zip(page.blocks, kept, strict=True) if is_kept for word in block], page.reference)


def tell(what: str, pages: list[Page], scores: dict[str, float]) -> None:
    kinds: dict[str, list[float]] = defaultdict(list)
    for page in pages:
        if page.name in scores:
            kinds[page.kind].append(scores[page.name])
    parts = " ".join(f"{kind} {np.mean(kinds[kind]):.3f}" for kind in sorted(kinds))
    print(f"{what}: {np.mean(list(scores.values())):.4f}; {parts}", flush=True)


def validate(pages: list[Page], blocks: Blocks, seed: int) -> None:
    seen: dict[str, list[float]] = defaultdict(list)
    unseen: dict[str, float] = {}
    for part in split(pages, FOLDS, random.Random(seed)):
        names = {page.name for page in part}
        rest = [page for page in pages if page.name not in names]
        forests = grow_both(rest, blocks, seed)
        for name, value in judge(rest, blocks, forests).items():
            seen[name].append(value)
        unseen |= judge(part, blocks, forests)
    tell(f"seed {seed}, seen", pages, {name: float(np.mean(values)) for name, values in seen.items()})
    tell(f"seed {seed}, not seen", pages, unseen)


def nodes(tree: dict) -> list[tuple[int, int, float]]:
    """Lists the nodes of a tree in the program's format: feature, distance to the right child, value."""
    if "leaf_value" in tree:
        return [(LEAF, 0, tree["leaf_value"])]
    left, right = nodes(tree["left_child"]), nodes(tree["right_child"])
    return [(tree["split_feature"], 1 + len(left), tree["threshold"]), *left, *right]


def write(forest: lightgbm.Booster, path: Path) -> None:
    packed = b""
    for tree in forest.dump_model()["tree_info"]:
        listed = nodes(tree["tree_structure"])
        for index, (feature, right, value) in enumerate(listed):
            # For a leaf, the value is the distance to the next tree.
            if feature != LEAF:
                # Rounds down, so that values that go to the right still do.
                near = np.float32(value)
                value = near if near <= value else np.nextafter(near, np.float32(-np.inf))
            packed += struct.pack("<HHf", feature, len(listed) - index if feature == LEAF else right, value)
    path.write_bytes(packed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=Path)
    parser.add_argument("blocks", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    chosen = parser.parse_args()
    blocks = Blocks(chosen.blocks.resolve(), chosen.pages, chosen.work)
    pages = [page for page in blocks.pages() if page.blocks]
    if chosen.write:
        first, second = grow_both(pages, blocks, 0)
        write(first, chosen.write / "first.forest")
        write(second, chosen.write / "second.forest")
        return
    for seed in range(chosen.seeds):
        validate(pages, blocks, seed)


if __name__ == "__main__":
    main()
