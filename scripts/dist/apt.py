"""A repository for apt in its flat layout: the folder of the release itself, whose index names its packages.

A line such as `deb [signed-by=KEY] ADDRESS ./` uses it (see sources.list(5), and
https://wiki.debian.org/DebianRepository/Format#Flat_Repository_Format).

`apt.py OUT KEY` signs the index in OUT with the secret key KEY of gpg."""

import email.utils
import hashlib
import pathlib
import subprocess
import sys

import archives


def write(out, controls, when, key):
    """Writes the index of the packages: CONTROLS is {package: its control file}. Signs it if KEY names a key of gpg."""
    entries = []
    for path, control in sorted(controls.items()):
        size, digest = path.stat().st_size, archives.sha256(path)
        entries.append(f"{control}Filename: ./{path.name}\nSize: {size}\nSHA256: {digest}\n")
    packages = "\n".join(entries).encode()
    indices = {"Packages": packages, "Packages.gz": archives.gzipped(packages, when)}
    for name, data in indices.items():
        (out / name).write_bytes(data)
    architectures = sorted({line.split(": ")[1] for text in controls.values() for line in text.splitlines()
                            if line.startswith("Architecture: ")})
    sums = "".join(f" {hashlib.sha256(data).hexdigest()} {len(data)} {name}\n" for name, data in indices.items())
    release = (
        "Origin: scorpiox-code\nLabel: scorpiox-code\nSuite: stable\nCodename: stable\n"
        f"Date: {email.utils.formatdate(when, usegmt=True)}\n"
        f"Architectures: {' '.join(architectures)}\n"
        f"Description: Releases of scorpiox-code\nSHA256:\n{sums}"
    )
    (out / "Release").write_text(release)
    if key:
        sign(out, key)


def sign(out, key):
    """Signs the index with the secret key KEY of gpg, and writes the public key that apt verifies it with."""
    gpg = ["gpg", "--batch", "--yes"]
    signing = [*gpg, "--local-user", key, "--digest-algo", "SHA512", "--clearsign"]
    subprocess.run([*signing, "--output", out / "InRelease", out / "Release"], check=True)
    exported = subprocess.run([*gpg, "--armor", "--export", key], check=True, capture_output=True).stdout
    (out / "scorpiox-code-apt.asc").write_bytes(exported)


if __name__ == "__main__":
    sign(pathlib.Path(sys.argv[1]), sys.argv[2])
