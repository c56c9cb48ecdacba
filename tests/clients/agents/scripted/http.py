"""HTTP server of the scripted model: each request goes to the protocol of its path."""

from __future__ import annotations

import gzip
import http.server
import json
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from scripted.talk import Call, Request
from scripted.wires import anthropic, chat, gemini, responses

Turn = Callable[[Request], Call | None]

# Maximum time for one read of a request, in seconds.
PATIENCE = 60


def wire_of(path: str) -> ModuleType | None:
    plain = path.split("?")[0]
    if plain.endswith("/messages"):
        return anthropic
    if plain.endswith("/responses"):
        return responses
    if plain.endswith("/chat/completions"):
        return chat
    if "enerateContent" in plain:
        return gemini
    return None


class Handler(http.server.BaseHTTPRequestHandler):
    """Handler of an agent's connection."""

    protocol_version = "HTTP/1.1"
    timeout = PATIENCE
    turn: Turn
    record: Callable[[str, Any], None]

    def do_POST(self) -> None:
        body = self.body()
        self.record(self.path, body)
        wire = wire_of(self.path)
        if wire is None:
            counts = {"input_tokens": 10, "totalTokens": 10} if "ount" in self.path else {}
            return self.send(json.dumps(counts), "application/json")
        whole, events = wire.answer(self.turn(wire.read(body)), body)
        if not (body.get("stream") or "streamGenerateContent" in self.path):
            return self.send(json.dumps(whole), "application/json")
        return self.send(
            "".join(map(event_text, events)) + ("data: [DONE]\n\n" if wire is chat else ""), "text/event-stream"
        )

    def do_GET(self) -> None:
        models = {
            "object": "list",
            "data": [{"id": "scripted", "object": "model", "created": 1, "owned_by": "tests"}],
        }
        self.send(json.dumps(models if self.path.split("?")[0].endswith("/models") else {}), "application/json")

    def do_HEAD(self) -> None:
        self.send("", "application/json")

    def body(self) -> dict[str, Any]:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            raw = self.chunks()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        parsed = json.loads(raw or b"{}")
        return parsed if isinstance(parsed, dict) else {}

    def chunks(self) -> bytes:
        whole = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def send(self, content: str, kind: str) -> None:
        raw = content.encode()
        try:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
        except OSError:
            # The agent has exited.
            self.close_connection = True

    def log_message(self, *arguments: Any) -> None:
        pass


def event_text(event: dict[str, Any]) -> str:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n"


class QuietServer(http.server.ThreadingHTTPServer):
    """Server that ignores connections which an agent aborted."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


def serve(turn: Turn, record: Callable[[str, Any], None]) -> QuietServer:
    """Serves on a free loopback port until `shutdown`."""
    handler = type("ScriptedHandler", (Handler,), {"turn": staticmethod(turn), "record": staticmethod(record)})
    server = QuietServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
