"""Local web server for the components."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Expected value of the header `x-key` at /weather.
KEY = "a-key-that-nobody-may-see"
# Content of /hello.
HELLO = "hello from the web"


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, body = 404, "nothing is here"
        if self.path == "/hello":
            status, body = 200, HELLO
        elif self.path.startswith("/weather?city="):
            city = self.path.partition("=")[2]
            knows = self.headers.get("x-key") == KEY
            status, body = (200, json.dumps({"city": city, "degrees": 21})) if knows else (401, "who asks?")
        data = body.encode()
        self.send_response(status)
        self.send_header("content-type", "text/plain")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self) -> None:
        """Returns the size of a chunked body, and its trailers."""
        size, trailers = 0, []
        while length := int(self.rfile.readline().split(b";")[0], 16):
            size += len(self.rfile.read(length))
            self.rfile.readline()
        while line := self.rfile.readline().decode("latin-1").strip():
            trailers.append(line.lower())
        data = f"{size} bytes, then {', '.join(trailers) or 'no trailers'}".encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


class Web:
    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.authority = f"127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
