"""An OCI image: layout.py OUT BASE PROGRAM WHEN VERSION REVISION

Writes the image of two layers, BASE (a tar archive of a system) and PROGRAM above it, as a folder (OUT/layout) and as one
file (OUT/scorpiox-code.oci.tar). The same input gives the same bytes: times are WHEN, owners are numbers, names are
sorted, and nothing says where or when the image was made.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import platform
import shutil
import sys
import tarfile
import time

NAME = "scorpiox-code"
MEDIA = "application/vnd.oci.image"
# User ID that no machine assigns. It is numeric, so that Kubernetes can verify that it is not root.
USER = 65532
HOME, WORKSPACE, POLICY = "var/lib/scorpiox", "work", "etc/scorpiox"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def tar(entries):
    """Creates an archive of (path, mode, owner, time, content); a directory has no content."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, mode, owner, when, data in entries:
            about = tarfile.TarInfo(path)
            about.type = tarfile.DIRTYPE if data is None else tarfile.REGTYPE
            about.mode, about.uid, about.gid, about.mtime = mode, owner, owner, when
            about.size = len(data or b"")
            archive.addfile(about, io.BytesIO(data or b""))
    return out.getvalue()


def program_layer(program, when):
    """Returns the program, its licenses, and the mount points of volumes."""
    root = pathlib.Path(__file__).resolve().parents[2]
    licences = f"usr/local/share/doc/{NAME}"
    entries = [
        # The runtime provides the devices, but the directory must exist.
        ("dev", 0o755, 0, when, None),
        (POLICY, 0o755, 0, when, None),
        ("usr/local/bin/" + NAME, 0o755, 0, when, program),
        (licences, 0o755, 0, when, None),
        *((f"{licences}/{file}", 0o644, 0, when, (root / file).read_bytes()) for file in ("LICENSE-APACHE", "LICENSE-MIT")),
        (HOME, 0o700, USER, when, None),
        (WORKSPACE, 0o755, USER, when, None),
    ]
    return tar(sorted(entries))


class Layout:
    """A directory of blobs, each named by the hash of its content."""

    def __init__(self, folder):
        self.blobs = folder / "blobs/sha256"
        self.blobs.mkdir(parents=True)
        (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}\n')

    def add(self, kind, data):
        """Returns the descriptor of a blob for a manifest or an index."""
        digest = hashlib.sha256(data).hexdigest()
        (self.blobs / digest).write_bytes(data)
        return {"mediaType": f"{MEDIA}.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    def add_json(self, kind, value):
        return self.add(kind, json.dumps(value, sort_keys=True).encode())


def configuration(layers, when, version, revision):
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
    label = "org.opencontainers.image"
    return {
        "created": created,
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "Entrypoint": [f"/usr/local/bin/{NAME}"],
            "Cmd": ["serve", "--http", "0.0.0.0:7300"],
            "WorkingDir": f"/{WORKSPACE}",
            "Volumes": {f"/{HOME}": {}, f"/{WORKSPACE}": {}},
            "ExposedPorts": {"7300/tcp": {}, "9464/tcp": {}},
            "StopSignal": "SIGTERM",
            "Env": [
                "PATH=/usr/local/bin:/usr/bin:/bin",
                f"HOME=/{HOME}",
                f"SCORPIOX_HOME=/{HOME}",
                "SCORPIOX_LOG=info",
                "LANG=C.UTF-8",
                # The thread caches of glibc grow for hours, and are not faster with a database.
                "GLIBC_TUNABLES=glibc.malloc.tcache_count=0",
            ],
            "Labels": {
                f"{label}.title": NAME,
                f"{label}.description": "Tools for language models over MCP, in sandboxes",
                f"{label}.version": version,
                f"{label}.revision": revision,
                f"{label}.created": created,
                # License of the program. Those of the Debian packages are in /usr/share/doc/*/copyright.
                f"{label}.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers]},
        "history": [{"created": created, "comment": comment} for comment in ("packages of Debian's", NAME)],
    }


def archived(folder, file, when):
    """Writes the layout as one file."""
    paths = sorted(folder.rglob("*"))
    entries = [
        (str(path.relative_to(folder)), 0o755, 0, when, None) if path.is_dir()
        else (str(path.relative_to(folder)), 0o644, 0, when, path.read_bytes())
        for path in paths
    ]
    file.write_bytes(tar(entries))


def main():
    out, base, program = map(pathlib.Path, sys.argv[1:4])
    when, version, revision = int(sys.argv[4]), sys.argv[5], sys.argv[6]
    draft = out / "layout.new"
    shutil.rmtree(draft, ignore_errors=True)
    layout = Layout(draft)
    layers = [base.read_bytes(), program_layer(program.read_bytes(), when)]
    config = layout.add_json("config.v1+json", configuration(layers, when, version, revision))
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{MEDIA}.manifest.v1+json",
        "config": config,
        "layers": [layout.add("layer.v1.tar+gzip", gzip.compress(layer, 6, mtime=0)) for layer in layers],
    }
    described = layout.add_json("manifest.v1+json", manifest)
    described["annotations"] = {
        "org.opencontainers.image.ref.name": version,
        # Name of the image after an import into containerd or Docker.
        "io.containerd.image.name": f"docker.io/library/{NAME}:{version}",
    }
    described["platform"] = {"architecture": ARCHITECTURES[platform.machine()], "os": "linux"}
    index = {"schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json", "manifests": [described]}
    (draft / "index.json").write_text(json.dumps(index, sort_keys=True) + "\n")
    archived(draft, out / f"{NAME}.oci.tar", when)
    shutil.rmtree(out / "layout", ignore_errors=True)
    os.rename(draft, out / "layout")
    (out / "digest").write_text(described["digest"] + "\n")
    for name, layer in zip(("base", "program"), manifest["layers"]):
        print(f"{layer['size'] / 1e6:8.2f} MB  {name} {layer['digest']}")
    print(f"            image {described['digest']}")


if __name__ == "__main__":
    main()
