"""Archives with reproducible bytes, from {path: (bytes, mode)}."""

import gzip
import hashlib
import io
import tarfile
import time
import zipfile


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def folders(paths):
    """Returns the parent directories of paths, outermost first."""
    found = set()
    for path in paths:
        parts = path.split("/")[:-1]
        found.update("/".join(parts[: n + 1]) for n in range(len(parts)))
    return sorted(found - {"", "."})


def tar(files, when, prefix=""):
    """Creates an archive whose files are owned by root."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        names = {prefix + path: content for path, content in files.items()}
        for folder in folders(names):
            about = tarfile.TarInfo(folder)
            about.type, about.mode, about.mtime = tarfile.DIRTYPE, 0o755, when
            about.uname = about.gname = "root"
            archive.addfile(about)
        for path in sorted(names):
            data, mode = names[path]
            about = tarfile.TarInfo(path)
            about.size, about.mode, about.mtime = len(data), mode, when
            about.uname = about.gname = "root"
            archive.addfile(about, io.BytesIO(data))
    return out.getvalue()


def gzipped(data, when):
    return gzip.compress(data, 9, mtime=when)


def zipped(files, when):
    """Creates an archive that stores Unix modes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(files):
            data, mode = files[path]
            about = zipfile.ZipInfo(path, time.gmtime(when)[:6])
            about.compress_type = zipfile.ZIP_DEFLATED
            about.create_system = 3  # Unix
            about.external_attr = (0o100000 | mode) << 16
            archive.writestr(about, data)
    return out.getvalue()


def archive(path, files, when):
    """Writes an archive of the kind given by its extension."""
    if path.name.endswith(".tar.gz"):
        top = path.name.removesuffix(".tar.gz")
        path.write_bytes(gzipped(tar(files, when, f"{top}/"), when))
    elif path.suffix == ".tgz":
        # Packages for npm have this folder at their top.
        path.write_bytes(gzipped(tar(files, when, "package/"), when))
    elif path.suffix in (".zip", ".mcpb", ".whl"):
        path.write_bytes(zipped(files, when))
    else:
        raise ValueError(f"{path.name} is no archive that is known here")


def ar(members, when):
    """Creates an `ar` archive, the format of Debian packages."""
    out = io.BytesIO()
    out.write(b"!<arch>\n")
    for name, data in members.items():
        out.write(f"{name:<16}{when:<12}{0:<6}{0:<6}{0o100644:<8o}{len(data):<10}`\n".encode())
        out.write(data + (b"\n" if len(data) % 2 else b""))
    return out.getvalue()
