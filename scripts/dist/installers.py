"""The installers for a shell and for PowerShell, from their templates.

`installers.py OUT VERSION REPOSITORY PUBLIC` writes those of a release for the minisign key in the file PUBLIC."""

import pathlib
import sys

import manifests
import systems

TEMPLATES = pathlib.Path(__file__).parent / "templates"
KERNELS = {"linux": "Linux", "darwin": "Darwin"}
PROCESSORS = {"x64": "AMD64", "arm64": "ARM64"}


def public_key(path):
    """Returns the key in a file of minisign: its last line."""
    return pathlib.Path(path).read_text().strip().splitlines()[-1]


def files(release, made, public):
    """Returns the installers: {name: bytes}. Without a public key, they refuse to install anything."""
    unix = [f"{KERNELS[system.os]} {system.machine} {system.name}" for system in made if system.os in KERNELS]
    windows = [f"    '{PROCESSORS[system.cpu]}' = '{system.file(release)}'" for system in made if system.os == "win32"]
    values = {
        "VERSION": release.version,
        "DOWNLOADS": release.downloads,
        "PUBLIC_KEY": public,
        "GLIBC": systems.GLIBC,
        "SYSTEMS": "\n".join(unix),
        "ARCHIVES": "\n".join(windows),
    }
    filled = {}
    for name in ("install.sh", "install.ps1"):
        text = (TEMPLATES / name).read_text()
        for key, value in values.items():
            text = text.replace(f"@{key}@", value)
        filled[name] = text.encode()
    return filled


def main():
    out, version, repository, public = sys.argv[1:]
    release = manifests.Release("scorpiox-code", version, repository)
    for name, data in files(release, systems.SYSTEMS, public_key(public)).items():
        (pathlib.Path(out) / name).write_bytes(data)


if __name__ == "__main__":
    main()
