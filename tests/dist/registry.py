"""A registry for npm that serves the packages of a folder, and takes new ones, on an address of this machine alone.

`registry.py FOLDER` serves until its input ends. The path /upload/ takes uploads as PyPI does, and keeps only their
names."""

import base64
import contextlib
import hashlib
import http.server
import json
import pathlib
import re
import tarfile
import threading
import urllib.parse


def packages(folder):
    """Returns the manifests in the folder: {name: (manifest, file)}."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("*.tgz")):
        with tarfile.open(path) as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
        found[manifest["name"]] = (manifest, path)
    return found


@contextlib.contextmanager
def serving(folder):
    """Serves the folder, and gives the address of the registry."""
    known = packages(folder)
    folder = pathlib.Path(folder)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            name = urllib.parse.unquote(self.path.lstrip("/"))
            if name in known:
                self.answer("application/json", json.dumps(self.document(*known[name])).encode())
            elif (file := folder / pathlib.PurePosixPath(name).name).suffix == ".tgz" and file.is_file():
                self.answer("application/octet-stream", file.read_bytes())
            else:
                self.send_error(404)

        def body(self):
            return self.rfile.read(int(self.headers["Content-Length"]))

        def do_PUT(self):
            """Takes a package as `npm publish` sends it."""
            sent = json.loads(self.body())
            ((name, attachment),) = sent["_attachments"].items()
            file = folder / name.replace("@", "").replace("/", "-")
            file.write_bytes(base64.b64decode(attachment["data"]))
            (manifest,) = sent["versions"].values()
            known[manifest["name"]] = (manifest, file)
            with (folder / "published").open("a") as names:
                names.write(manifest["name"] + "\n")
            self.answer("application/json", b'{"ok":true}')

        def do_POST(self):
            """Takes a wheel as `uv publish` sends it, and keeps its name. npm asks for advisories, which are not here."""
            if self.path != "/upload/":
                return self.send_error(404)
            (name,) = re.findall(rb'filename="([^"]*\.whl)"', self.body())
            with (folder / "published").open("a") as names:
                names.write(name.decode() + "\n")
            return self.answer("text/plain", b"")

        def document(self, manifest, file):
            digest = base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()
            address = f"http://{self.headers['Host']}/{file.name}"
            version = manifest["version"]
            dist = {"tarball": address, "integrity": f"sha512-{digest}"}
            tags = {"latest": version}
            return {"name": manifest["name"], "dist-tags": tags, "versions": {version: {**manifest, "dist": dist}}}

        def answer(self, kind, data):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    import sys

    with serving(sys.argv[1]) as address:
        print(address, flush=True)
        sys.stdin.read()
