#!/usr/bin/env python3
"""Measures the throughput and the latency of servers: load.py BINARY GENERATOR FOLDER [ROW …]

Searches the knee of each row, and then measures 25, 50, 75 and 90 % of it. Writes FOLDER/load.jsonl, with one
line per measurement, and the tables in FOLDER/load.md. LOAD_PATIENCE (600) is the maximum time in seconds
that each measurement waits until no compiler runs on the machine."""

import glob
import json
import os
import subprocess
import sys
import threading
import time

import bed as beds
from bed import Bed, Postgres, Proxy, Server

CALLS = {
    "write": ("TaskManager", '{"action": "create", "text": "load @"}'),
    "read": ("TaskManager", '{"action": "list"}'),
}
# Name: kind of store, servers, workspaces, call, and whether writes survive a power loss.
ROWS = {
    **{f"files-{n}-write": ("files", n, 1, "write", False) for n in (1, 2, 4)},
    "files-1-write-power": ("files", 1, 1, "write", True),
    **{f"files-{n}-read": ("files", n, 1, "read", False) for n in (1, 2, 4)},
    **{f"postgres-{n}-write": ("postgres", n, 1, "write", True) for n in (1, 2, 4)},
    **{f"postgres-{n}-write-spread": ("postgres", n, 16, "write", True) for n in (1, 2, 4)},
    **{f"postgres-{n}-read": ("postgres", n, 1, "read", True) for n in (1, 2, 4)},
}
SHARES = (0.25, 0.5, 0.75, 0.9)
# A server runs 64 calls and queues 192. With several tokens, each may use half of that.
CONNECTIONS, TOKENS = 128, 4
LOW_RATE, LOW_SECONDS = 50, 10
LOOK_SECONDS, MEASURE_SECONDS = 6, 15
# Limits that define the knee, which is the highest rate that satisfies them.
MOST_P99, LEAST_ACHIEVED, MOST_ERRORS = 10, 0.99, 0
# Relative precision of the knee.
STEP = 1.15
# Compilers, which keep processors busy.
BUSY = {"rustc", "cargo", "cc1", "cc1plus", "ld", "ld.lld", "rust-lld", "clang", "clippy-driver"}
QUIET_SECONDS = 10
REPEATS = 5


def is_busy():
    for path in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(path) as file:
                if file.read().strip() in BUSY:
                    return True
        except OSError:
            pass  # the process has exited
    return False


class Watch(threading.Thread):
    """Tracks the time of the last compiler activity."""

    def __init__(self):
        super().__init__(daemon=True)
        self.last = time.monotonic()
        self.start()

    def run(self):
        while True:
            if is_busy():
                self.last = time.monotonic()
            time.sleep(0.25)

    def wait_for_quiet(self, patience):
        """Returns whether no compiler has run for ten seconds."""
        end = time.monotonic() + patience
        while time.monotonic() - self.last < QUIET_SECONDS:
            if time.monotonic() > end:
                return False
            time.sleep(0.25)
        return True


class Row:
    def __init__(self, bed, name, generator, watch, patience, log):
        self.bed, self.name, self.generator, self.log = bed, name, generator, log
        self.watch, self.patience = watch, patience
        self.store, count, self.workspaces, call, power = ROWS[name]
        self.tool, self.arguments = CALLS[call]
        database = bed.postgres.database() if self.store == "postgres" else None
        # Servers that share files also share a home, and a single metrics address would not suffice for them.
        shares = database is None and count > 1
        start = lambda n, home: Server(bed, f"{name}-{n}", database, TOKENS, self.workspaces, home=home, power=power,
                                       observed=not shares)
        self.servers = [start(0, None)]
        self.servers += [start(n, self.servers[0].home if shares else None) for n in range(1, count)]
        self.proxy = Proxy(bed, self.servers)
        # Creates a few tasks to list, and warms up the servers.
        self.arguments, listed = CALLS["write"][1], self.arguments
        self.ask(5, 1)
        self.arguments = listed
        self.ask(LOW_RATE, 3)

    def ask(self, rate, seconds):
        # Longer than the calls take, because the last of them may be 30 s late.
        ran = subprocess.run(
            [self.generator, f"127.0.0.1:{self.proxy.port}", str(rate), str(seconds), str(CONNECTIONS), str(TOKENS),
             str(self.workspaces), self.tool, self.arguments],
            capture_output=True, text=True, timeout=seconds + 60, check=True)
        return json.loads(ran.stdout)

    def processor(self):
        parts = {"servers": sum(beds.processor(server.child.pid) for server in self.servers),
                 "haproxy": beds.processor(self.proxy.child.pid), "database": 0.0}
        if self.store == "postgres":
            parts["database"] = sum(beds.processor(pid) for pid in self.bed.postgres.pids())
        usage = os.times()
        parts["generator"] = usage.children_user + usage.children_system
        return parts

    def measure(self, what, rate, seconds, waits=True):
        for repeat in range(REPEATS):
            was_quiet = self.watch.wait_for_quiet(self.patience if waits else 0)
            before, begun = self.processor(), time.monotonic()
            found = self.ask(rate, seconds)
            after = self.processor()
            quiet = was_quiet and self.watch.last < begun
            found |= {"row": self.name, "what": what, "seconds": seconds, "is_quiet": quiet, "repeats": repeat}
            found["processor_ms_a_call"] = {
                part: round(1000 * (after[part] - before[part]) / found["due"], 3) for part in after}
            # If the machine does not become quiet, a repetition would be no better.
            if quiet or not was_quiet:
                break
        self.log(found)
        return found

    def passes(self, found):
        errors = sum(found["errors"].values())
        return (found["p99"] <= MOST_P99 * self.low and found["in_time"] >= LEAST_ACHIEVED * found["due"]
                and errors <= MOST_ERRORS)

    def run(self):
        self.low = self.measure("low", LOW_RATE, LOW_SECONDS)["p99"]
        good, bad = LOW_RATE * 2, None
        while bad is None or bad / good > STEP:
            rate = good * 2 if bad is None else round((good * bad) ** 0.5)
            # A rate that is reached during compilation counts. A rate that is not reached is retried on a
            # quiet machine.
            if any(self.passes(self.measure("look", rate, LOOK_SECONDS, waits)) for waits in (False, True)):
                good = rate
            else:
                bad = rate
        for share in SHARES:
            self.measure(f"{share:.0%}", round(good * share), MEASURE_SECONDS)
        self.log({"row": self.name, "what": "knee", "rate": good, "low_p99": self.low})
        self.bed.end(self.proxy.child, *(server.child for server in self.servers))


def table(path, out):
    """Formats the tables, with the last measurement of each row."""
    with open(path) as file:
        found = [json.loads(line) for line in file]
    last = {(line["row"], line["what"]): line for line in found}
    out.write("| row | knee, calls/s | p99 at 50/s | of the knee | calls/s | p50 | p90 | p99 | p99.9 | max | errors |\n")
    out.write("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
    for row in ROWS:
        knee = last.get((row, "knee"))
        if not knee:
            continue
        for number, share in enumerate(SHARES):
            line = last[row, f"{share:.0%}"]
            first = [row, str(knee["rate"]), f"{knee['low_p99']:.1f}"] if number == 0 else ["", "", ""]
            times = [f"{line[name]:.1f}" for name in ("p50", "p90", "p99", "p99.9", "max")]
            noisy = "" if line["is_quiet"] else " (noisy)"
            cells = [*first, f"{share:.0%}", f"{line['rate']:g}{noisy}", *times, str(sum(line["errors"].values()))]
            out.write(f"| {' | '.join(cells)} |\n")
    out.write("\nTimes in ms. Processor time of a call, at 75 % of the knee, in ms:\n\n")
    out.write("| row | servers | database | haproxy | generator | repeated since something was compiled |\n")
    out.write("| --- | --- | --- | --- | --- | --- |\n")
    for row in ROWS:
        if (line := last.get((row, "75%"))) and (row, "knee") in last:
            parts = line["processor_ms_a_call"]
            repeats = sum(line["repeats"] for line in found if line["row"] == row and "repeats" in line)
            cells = [row, *(f"{parts[part]:.2f}" for part in ("servers", "database", "haproxy", "generator")), str(repeats)]
            out.write(f"| {' | '.join(cells)} |\n")


def main():
    binary, generator, folder, *names = sys.argv[1:]
    if unknown := [name for name in names if name not in ROWS]:
        sys.exit(f"there is no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    patience = float(os.environ.get("LOAD_PATIENCE", "600"))
    path = os.path.join(folder, "load.jsonl")

    def log(line):
        print(json.dumps(line), flush=True)
        with open(path, "a") as file:
            file.write(json.dumps(line) + "\n")

    watch = Watch()
    with Bed(binary) as bed:
        bed.postgres = Postgres(bed)
        for name in names or ROWS:
            Row(bed, name, os.path.abspath(generator), watch, patience, log).run()
    with open(os.path.join(folder, "load.md"), "w") as out:
        table(path, out)


if __name__ == "__main__":
    main()
