"""A registry for npm that serves the packages of a folder, on an address of this machine alone."""

import base64
import contextlib
import hashlib
import http.server
import json
import pathlib
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

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            name = urllib.parse.unquote(self.path.lstrip("/"))
            if name in known:
                self.answer("application/json", json.dumps(self.document(*known[name])).encode())
            elif (file := pathlib.Path(folder) / pathlib.PurePosixPath(name).name).suffix == ".tgz" and file.is_file():
                self.answer("application/octet-stream", file.read_bytes())
            else:
                self.send_error(404)

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
