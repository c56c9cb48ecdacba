"""Packages of the built program: pack.py OUT TARGET…

Reads target/TARGET/release/scorpiox-code of each TARGET, and writes everything that is published into OUT. The same
program gives the same bytes: times are those of the last commit, owners are root, and names are sorted. DIST_BUILT
names another folder with TARGET/release/scorpiox-code.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import apt
import archives
import installers
import manifests
import npm
import purposes
import recipes
import system
import systems
import wheel

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


def public_key():
    """Returns the public key of the release, or "" for packages that are never signed."""
    key, public = os.environ.get("DIST_KEY"), os.environ.get("DIST_PUBLIC_KEY")
    if not key and not public:
        return ""
    if re.fullmatch("RW[A-Za-z0-9+/]{54}", public or ""):
        return public
    path = pathlib.Path(public or f"{key.removesuffix('.key')}.pub")
    if not path.is_file():
        sys.exit(f"dist: {path} is missing; DIST_PUBLIC_KEY names the public key of DIST_KEY, which installers contain")
    return installers.public_key(path)


def emptied(out):
    """Creates the folder, or removes the files of an earlier run."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.iterdir():
        if not old.is_file():
            sys.exit(f"dist: {old} is no file of a package; remove it")
        old.unlink()


def of_system(out, release, built, extra, texts, crates, when):
    """Writes the packages for one system. Returns the control file of its package for Debian, if it has one."""
    folder = pathlib.Path(os.environ.get("DIST_BUILT") or ROOT / "target")
    program = (folder / built.target / "release" / built.program).read_bytes()
    files = {built.program: (program, 0o755)}
    files |= {path: (data, 0o644) for path, data in (texts | extra).items()}
    name = f"{NAME}-{release.version}-{built.name}"
    archives.archive(out / built.file(release), files, when)
    archives.archive(out / f"{name}.mcpb", manifests.mcpb(release, built, program), when)
    plugin = manifests.claude_code(release, built, program, texts["README.md"])
    archives.archive(out / f"{name}-claude-code{built.archive}", plugin, when)
    for path, content in (npm.of_system(release, built, program, texts), wheel.files(release, built, program, texts)):
        archives.archive(out / path, content, when)
    (out / f"{name}.cdx.json").write_bytes(manifests.sbom(release, built, crates, when))
    if not built.is_linux:
        return {}
    system.rpm(out, release, built, files, when)
    return {out / f"{NAME}_{release.version}_{built.debian}.deb": system.deb(out, release, built, files, when)}


def of_all(out, release, made, public, texts, when):
    """Writes the files that name the packages of all systems."""
    start = (ROOT / "scripts/dist/templates/start.js").read_bytes()
    path, content = npm.starter(release, made, start, texts)
    archives.archive(out / path, content, when)
    sums = {path.name: archives.sha256(path) for path in sorted(out.iterdir())}
    bundles = {name: digest for name, digest in sums.items() if name.endswith(".mcpb")}
    files = installers.files(release, made, public)
    files["server.json"] = (json.dumps(manifests.server(release, bundles), indent=2) + "\n").encode()
    files["binstall.toml"] = recipes.binstall(release, made, public)
    if any(system.os != "win32" for system in made):
        files[f"{NAME}.rb"] = recipes.homebrew(release, sums, made)
    if any(system.os == "win32" for system in made):
        files[f"{NAME}.json"] = recipes.scoop(release, sums, made)
    for name, data in files.items():
        (out / name).write_bytes(data)


def main():
    out, made = pathlib.Path(sys.argv[1]), [systems.of(target) for target in sys.argv[2:]]
    public = public_key()
    emptied(out)
    when = int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct"))
    about = {system.target: metadata(system.target) for system in made}
    own = next(package for package in about[made[0].target]["packages"] if package["name"] == NAME)
    release = manifests.Release(NAME, own["version"], os.environ.get("DIST_REPOSITORY"))
    with tempfile.TemporaryDirectory() as folder:
        extra, texts = reference(folder), documents()
    controls = {}
    for built in made:
        controls |= of_system(out, release, built, extra, texts, about[built.target], when)
    if controls:
        apt.write(out, controls, when, os.environ.get("DIST_APT_KEY"))
        if not os.environ.get("DIST_APT_KEY"):
            print("dist: the index for apt is not signed; DIST_APT_KEY names the key of gpg to sign it with", file=sys.stderr)
    of_all(out, release, made, public, texts, when)
    sums = "".join(f"{archives.sha256(path)}  {path.name}\n" for path in sorted(out.iterdir()))
    (out / "SHA256SUMS").write_text(sums)
    if os.environ.get("DIST_KEY"):
        sign = [ROOT / "scripts/dist/sign.sh", os.environ["DIST_KEY"], out, f"{NAME} {release.version}", public]
        subprocess.run(sign, check=True)
    else:
        print("dist: SHA256SUMS is not signed; DIST_KEY names the key of minisign to sign it with", file=sys.stderr)
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size / 1e6:8.2f} MB  {path.name:<52}  {purposes.of(path.name)}")


if __name__ == "__main__":
    main()
