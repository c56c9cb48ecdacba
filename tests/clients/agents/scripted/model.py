"""Scripted model: it calls the tools of a script, one per turn, and records the content that it receives."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from scripted import http
from scripted.talk import Call, Request, Result, Shown


class Scene(Protocol):
    """Source of the calls."""

    def next_call(self, done: int) -> tuple[str, dict[str, Any]] | None:
        """Returns the tool, by the server's name, and the arguments; `None` at the end."""


class Names(Protocol):
    """Mapping of the tools to the names in a client."""

    def shown_as(self, tool: str) -> str: ...

    def search(self, tools: dict[str, Shown], wanted: str) -> tuple[str, dict[str, Any]] | None:
        """Returns a call that finds a tool which is not listed yet; `None` if the client has no search."""


class Model:
    """Model that serves until `close`.

    A client also uses its model for other purposes, such as a title. Such a request has no tools, or none of
    those in the conversation.
    """

    def __init__(self, names: Names, scene: Scene, record: Callable[[str, Any], None]) -> None:
        self.tools: dict[str, Shown] = {}
        self.first_listing: set[str] = set()
        self.system = ""
        self.results: list[Result] = []
        self.searches: list[Result] = []
        self._names = names
        self._scene = scene
        # Calls made so far, in the order of their results, each with True for a search.
        self._given: list[tuple[bool, Call]] = []
        # Call that is postponed until a search has listed its tool.
        self._put_off: tuple[str, dict[str, Any]] | None = None
        self._lock = threading.Lock()
        self._server = http.serve(self._turn, record)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _turn(self, request: Request) -> Call | None:
        with self._lock:
            if not request.tools or (self.tools and not set(request.tools) & set(self.tools)):
                return None
            if not self.tools:
                self.first_listing = set(request.tools)
            self.tools |= request.tools
            self.system = max(self.system, request.system, key=len)
            self._keep(request.results)
            return self._answer(len(request.results))

    def _keep(self, results: list[Result]) -> None:
        kinds = [search for search, _ in self._given]
        found = [result for search, result in zip(kinds, results) if not search]
        if len(found) >= len(self.results):
            self.results = found
            self.searches = [result for search, result in zip(kinds, results) if search]

    def _answer(self, done: int) -> Call | None:
        if done < len(self._given):
            # The client repeats its request.
            return self._given[done][1]
        if done > len(self._given):
            # A result without a corresponding call.
            return None
        call = self._put_off or self._scene.next_call(len(self.results))
        if call is None:
            return None
        tool, arguments = call
        name = self._names.shown_as(tool)
        search = self._names.search(self.tools, tool) if name not in self.tools and not self._put_off else None
        self._put_off = call if search else None
        self._given.append((True, Call(done, *search)) if search else (False, Call(done, name, arguments)))
        return self._given[-1][1]
