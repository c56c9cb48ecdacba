"""Relays and records each line between a client and the server: relay.py LOG COMMAND [ARGUMENT...]

A line of the log is JSON: the sender, the time in seconds since the start, and the line.
"""

import json
import subprocess
import sys
import threading
import time
from typing import IO


def main() -> int:
    log = open(sys.argv[1], "a", buffering=1)
    server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    lock, start = threading.Lock(), time.monotonic()

    def keep(who: str, line: str) -> None:
        with lock:
            log.write(json.dumps({"who": who, "at": round(time.monotonic() - start, 2), "line": line}) + "\n")

    def pump(who: str, source: IO[bytes], sink: IO[bytes]) -> None:
        for line in iter(source.readline, b""):
            keep(who, line.decode(errors="replace").rstrip())
            try:
                sink.write(line)
                sink.flush()
            except OSError:
                break
        keep(who, "")

    def upstream() -> None:
        pump("client", sys.stdin.buffer, server.stdin)
        server.stdin.close()

    threading.Thread(target=upstream, daemon=True).start()
    pump("server", server.stdout, sys.stdout.buffer)
    return server.wait()


sys.exit(main())
