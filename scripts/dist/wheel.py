"""Wheels (https://packaging.python.org/en/latest/specifications/binary-distribution-format/): the program as the one
script of the package `scorpiox-code`, without any Python."""

import base64
import csv
import hashlib
import io

import manifests


def files(release, system, program, texts):
    """Returns the name and the files of the wheel for one system."""
    top = f"{release.name.replace('-', '_')}-{release.version}"
    tag = f"py3-none-{system.wheel}"
    placed = {f"{top}.data/scripts/{system.program}": (program, 0o755)}
    licences = {path: data for path, data in texts.items() if path.startswith("LICENSE")}
    for path, data in licences.items():
        placed[f"{top}.dist-info/licenses/{path}"] = (data, 0o644)
    placed[f"{top}.dist-info/METADATA"] = (_metadata(release, licences), 0o644)
    placed[f"{top}.dist-info/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: {release.name}\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
        0o644,
    )
    record = f"{top}.dist-info/RECORD"
    placed[record] = (_record(placed, record), 0o644)
    return f"{top}-{tag}.whl", placed


def _metadata(release, licences):
    head = {
        "Metadata-Version": ["2.4"],
        "Name": [release.name],
        "Version": [release.version],
        "Summary": [manifests.DESCRIPTION],
        "License-Expression": [manifests.LICENSE],
        "License-File": sorted(licences),
        "Keywords": ["mcp,sandbox,shell,webassembly"],
        "Classifier": ["Environment :: Console", "Programming Language :: Rust"],
        "Project-URL": [f"Repository, {release.repository}"],
        "Requires-Python": [">=3.8"],
        "Description-Content-Type": ["text/markdown"],
    }
    lines = [f"{key}: {value}\n" for key, values in head.items() for value in values]
    return "".join(lines).encode() + b"\n" + manifests.readme(release, f"uvx {release.name}")


def _record(placed, record):
    """Returns the list of the files with their sums. The list itself has none."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    for path, (data, _) in sorted(placed.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.writerow([path, f"sha256={digest}", len(data)])
    rows.writerow([record, "", ""])
    return out.getvalue().encode()
