"""Local web of a session: a page, a long page, and a search engine."""

from __future__ import annotations

import http.server
import json
import threading
from typing import Any

PARAGRAPH = "<p>A paragraph that is long enough to be taken for the page's own text, number {number}.</p>"
PAGE = (
    "<html><title>{title}</title><body><article><h1>{title}</h1>"
    "<p>{title} begins here.</p>{body}<p>{title} ends here.</p>"
)

# Number of paragraphs of the long page, which exceeds the limit of a result several times.
MANY = 2000


def page(title: str, paragraphs: int) -> str:
    body = "".join(PARAGRAPH.format(number=number) for number in range(paragraphs))
    return PAGE.format(title=title, body=body)


HITS = [{"URL": "https://found.example.com/", "Title": "The found page", "Snippet": "What the engine says of it."}]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if path.startswith("/engine"):
            return self.send(json.dumps(HITS), "application/json")
        title, paragraphs = ("Long page", MANY) if path == "/long" else ("Short page", 8)
        self.send(page(title, paragraphs), "text/html")

    def send(self, content: str, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(content.encode())

    def log_message(self, *arguments: Any) -> None:
        pass


class Site:
    """Site that serves until `close`."""

    def __init__(self) -> None:
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
