"""Packages of the built program: pack.py OUT TARGET…

Reads target/TARGET/release/scorpiox-code of each TARGET, and writes everything that is published into OUT. The same
program gives the same bytes: times are those of the last commit, owners are root, and names are sorted.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import archives
import manifests
import system

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAME = "scorpiox-code"


def output(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, **more).stdout


def metadata(target):
    """Returns the metadata of the dependencies of the program on one system."""
    text = output("cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target)
    return json.loads(text)


def reference(folder):
    """Returns the completions and manual pages that this system's program prints: {path: bytes}."""
    program = ROOT / "target/release" / NAME
    files = {}
    for shell, path in {
        "bash": f"completions/{NAME}.bash",
        "zsh": f"completions/_{NAME}",
        "fish": f"completions/{NAME}.fish",
        "powershell": f"completions/{NAME}.ps1",
    }.items():
        files[path] = output(program, "completions", shell).encode()
    pages = pathlib.Path(folder) / "man"
    output(program, "man", "--out", pages)
    for page in sorted(pages.iterdir()):
        files[f"man/{page.name}"] = page.read_bytes()
    return files


def documents():
    """Returns the files that every archive contains in addition to the program."""
    names = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"]
    files = {name: (ROOT / name).read_bytes() for name in names}
    for page in sorted((ROOT / "docs").glob("*.md")):
        files[f"docs/{page.name}"] = page.read_bytes()
    return files


def main():
    out, targets = pathlib.Path(sys.argv[1]), sys.argv[2:]
    out.mkdir(parents=True, exist_ok=True)
    for old in out.iterdir():
        if not old.is_file():
            sys.exit(f"dist: {old} is no file of a package; remove it")
        old.unlink()
    when = int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct"))
    about = {target: metadata(target) for target in targets}
    own = next(package for package in about[targets[0]]["packages"] if package["name"] == NAME)
    release = manifests.Release(NAME, own["version"], os.environ.get("DIST_REPOSITORY"))
    with tempfile.TemporaryDirectory() as folder:
        extra, texts = reference(folder), documents()
    for target in targets:
        built = system.System(target)
        program = (ROOT / "target" / target / "release" / built.program).read_bytes()
        files = {built.program: (program, 0o755)}
        files |= {path: (data, 0o644) for path, data in (texts | extra).items()}
        archives.archive(out / f"{NAME}-{release.version}-{built.name}{built.archive}", files, when)
        archives.archive(out / f"{NAME}-{release.version}-{built.name}.mcpb", manifests.mcpb(release, built, program), when)
        archives.archive(
            out / f"{NAME}-{release.version}-{built.name}-claude-code{built.archive}",
            manifests.claude_code(release, built, program, texts["README.md"]),
            when,
        )
        if built.is_linux:
            system.deb(out, release, built, files, when)
            system.rpm(out, release, built, files, when)
        sbom = manifests.sbom(release, built, about[target], when)
        (out / f"{NAME}-{release.version}-{built.name}.cdx.json").write_bytes(sbom)
    bundles = {path.name: archives.sha256(path) for path in sorted(out.glob("*.mcpb"))}
    (out / "server.json").write_text(json.dumps(manifests.server(release, bundles), indent=2) + "\n")
    sums = "".join(f"{archives.sha256(path)}  {path.name}\n" for path in sorted(out.iterdir()))
    (out / "SHA256SUMS").write_text(sums)
    key = os.environ.get("DIST_KEY")
    if key:
        subprocess.run([ROOT / "scripts/dist/sign.sh", key, out, f"{NAME} {release.version}"], check=True)
    else:
        print("dist: SHA256SUMS is not signed; DIST_KEY names the key of minisign to sign it with", file=sys.stderr)
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size / 1e6:8.2f} MB  {path.name}")


if __name__ == "__main__":
    main()
