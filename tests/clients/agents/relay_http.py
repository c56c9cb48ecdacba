"""Relays and records each message between clients and a server over HTTP.

Bytes are forwarded as they arrive, and connections close like those on the other side. A line of the log has
the format of relay.py, with the session of the message. The sender `left` marks a client that closed a
connection before the response, and the line is then the request.
"""

from __future__ import annotations

import contextlib
import io
import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

SESSION = "mcp-session-id"

# Statuses of responses without a body, regardless of their headers.
BODILESS = (204, 304)

# Maximum time to connect to the server, in seconds.
PATIENCE = 10


class Log:
    """Log whose lines are written immediately and atomically."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "ab", buffering=0)
        self._lock, self._start = threading.Lock(), time.monotonic()

    def keep(self, who: str, session: str, line: str, head: str = "") -> None:
        at = round(time.monotonic() - self._start, 2)
        whole = json.dumps({"who": who, "at": at, "session": session, "head": head, "line": line})
        with self._lock:
            self._file.write(whole.encode() + b"\n")


class Tap(io.RawIOBase):
    """Reader of one side's data that also forwards the data to the other side."""

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self._source, self._sink = source, sink
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._ended:
            return 0
        try:
            size = self._source.recv_into(buffer)
            self._sink.sendall(memoryview(buffer)[:size])
        except OSError:
            # One side has disconnected.
            size = 0
        self._ended = size == 0
        return size


@dataclass
class Head:
    """Start line and fields of a request or a response."""

    start: str
    fields: Message

    def field(self, name: str) -> str:
        return str(self.fields.get(name, ""))

    def status(self) -> int:
        return int(self.start.split(" ", 2)[1])


def read_head(stream: io.BufferedReader) -> Head | None:
    """Reads the next head; `None` at the end."""
    start = stream.readline()
    if not start.endswith(b"\n"):
        return None
    lines = []
    while (line := stream.readline()) not in (b"\r\n", b"\n"):
        if not line:
            return None
        lines.append(line)
    if start.count(b" ") < 2:
        raise ValueError("neither a request nor a response")
    return Head(start.decode("latin-1").strip(), BytesParser().parsebytes(b"".join(lines), headersonly=True))


def body(stream: io.BufferedReader, head: Head, until_end: bool) -> Iterator[bytes]:
    """Yields the parts of a body as they arrive."""
    if "chunked" in head.field("transfer-encoding"):
        while size := int(stream.readline().split(b";")[0] or b"0", 16):
            yield stream.read(size)
            stream.readline()
        stream.readline()
    elif length := head.field("content-length"):
        yield stream.read(int(length))
    elif until_end:
        while part := stream.read1(65536):
            yield part


def events(parts: Iterator[bytes]) -> Iterator[str]:
    """Yields the data of each event of a stream."""
    rest = b""
    for part in parts:
        *whole, rest = (rest + part).replace(b"\r\n", b"\n").split(b"\n\n")
        for event in whole:
            lines = event.decode(errors="replace").split("\n")
            yield "\n".join(line.removeprefix("data:").strip() for line in lines if line.startswith("data:"))


@dataclass
class Asked:
    """Request without a response yet."""

    method: str
    session: str
    line: str


class Connection:
    """Connection of a client, and the corresponding one to the server."""

    def __init__(self, client: socket.socket, port: int, log: Log) -> None:
        self._client, self._log = client, log
        self._server = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._server.settimeout(None)
        for end in (self._client, self._server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Requests in order, for the thread that reads the responses, and the unanswered ones.
        self._asked: queue.Queue[Asked] = queue.Queue()
        self._open: list[Asked] = []

    def run(self) -> None:
        answers = threading.Thread(target=self._pump, args=(self._server, self._client, self._answers), daemon=True)
        answers.start()
        self._pump(self._client, self._server, self._requests)
        for asked in list(self._open):
            self._log.keep("left", asked.session, asked.line)
        answers.join()
        self.close()

    def close(self) -> None:
        self._client.close()
        self._server.close()

    def _pump(self, source: socket.socket, sink: socket.socket, read: Callable[[io.BufferedReader], None]) -> None:
        stream: io.BufferedReader = io.BufferedReader(Tap(source, sink))
        with contextlib.suppress(ValueError, queue.Empty):
            read(stream)
        # Data that cannot be parsed is still forwarded.
        while stream.read1(65536):
            pass
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def _requests(self, stream: io.BufferedReader) -> None:
        while head := read_head(stream):
            asked = Asked(head.start.split(" ")[0], head.field(SESSION), "")
            self._open.append(asked)
            self._asked.put(asked)
            asked.line = b"".join(body(stream, head, until_end=False)).decode(errors="replace")
            self._log.keep("client", asked.session, asked.line, f"{head.start}\n{head.fields}")

    def _answers(self, stream: io.BufferedReader) -> None:
        while head := read_head(stream):
            if head.status() < 200:
                continue
            # The request was forwarded before it was parsed here, so its record may be late.
            asked = self._asked.get(timeout=PATIENCE)
            session = head.field(SESSION) or asked.session
            bodiless = asked.method == "HEAD" or head.status() in BODILESS
            parts = iter(()) if bodiless else body(stream, head, until_end=True)
            said = f"{head.start}\n{head.fields}"
            if "event-stream" in head.field("content-type"):
                self._log.keep("server", session, "", said)
                for data in events(parts):
                    self._log.keep("server", session, data)
            else:
                self._log.keep("server", session, b"".join(parts).decode(errors="replace"), said)
            self._open.remove(asked)


class Relay:
    """Relay that listens until `close`, for a server on a local port that may restart."""

    def __init__(self, port: int, log: Path) -> None:
        self._port, self._log = port, Log(log)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            connection = Connection(client, self._port, self._log)
        except OSError:
            # The server is down.
            client.close()
            return
        connection.run()

    def close(self) -> None:
        # Wakes the thread that accepts clients.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
