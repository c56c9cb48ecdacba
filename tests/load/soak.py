#!/usr/bin/env python3
"""Runs three servers behind haproxy at a constant rate, and checks that their resource usage is stable:
soak.py BINARY SECONDS CSV"""

import collections
import csv
import http.client
import itertools
import json
import queue
import sys
import threading
import time

import bed as beds
from bed import Bed, Postgres, Proxy, Server

SERVERS = 3
PRINCIPALS = 4
CLIENTS = 24
# Calls of each second: 20 writes, one of which creates a task and one of which completes it, 30 reads, and a
# session. A callback is set every other second.
SECOND = ["create", "complete", *["switch"] * 18, *["pending"] * 20, *["status"] * 10, "session"]
SAMPLE_SECONDS = 30
# Share of the run in which caches fill, ten minutes of an hour.
SETTLING = 1 / 6
# Maximum drift in an hour that counts as stable: a share of the mean, or an absolute value for small means.
FLAT_SHARE = 0.02
FLAT_LEAST = 1.0
# Values that must be stable. Tasks, ended sessions and the audit are retained, so they grow with the calls.
HOLDS = ("rss", "descriptors", "threads", "connections", "rows_timer", "rows_message", "rows_usage")


class Counts:
    def __init__(self):
        self.lock = threading.Lock()
        self.times, self.errors, self.told, self.done = [], [], 0, collections.Counter()

    def add(self, kind, seconds, wrong, told):
        with self.lock:
            self.done[kind] += 1
            self.told += told
            self.times.append(seconds)
            if wrong:
                self.done["errors"] += 1
                self.errors.append(f"{kind}: {wrong}"[:300])

    def interval(self):
        with self.lock:
            times, self.times = sorted(self.times), []
        at = lambda share: round(1000 * times[min(len(times) - 1, int(share * len(times)))], 2) if times else 0
        return {"calls": len(times), "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1)}


class Client(threading.Thread):
    """Executes due operations on a persistent connection. The time of an operation starts when it is due."""

    def __init__(self, port, due, counts, tasks, number):
        super().__init__(daemon=True)
        self.port, self.due, self.counts, self.tasks = port, due, counts, tasks
        self.token = beds.token(number % PRINCIPALS)
        self.connection, self.told = None, 0

    def run(self):
        while (item := self.due.get()) is not None:
            when, number, kind = item
            self.told = 0
            try:
                wrong = getattr(self, kind)(number)
            except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
                self.connection = None
                wrong = repr(error)
            self.counts.add(kind, time.monotonic() - when, wrong, self.told)

    def ask(self, method, body, headers):
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        bytes_ = json.dumps(body).encode() if body is not None else b""
        self.connection.request(method, "/mcp", bytes_, headers | {"Authorization": f"Bearer {self.token}"})
        answer = self.connection.getresponse()
        text = answer.read().decode()
        self.told += text.count("the soak rings")
        return answer, text

    @staticmethod
    def wrong(answer, text):
        return f"{answer.status} {text}" if answer.status != 200 or '"isError":true' in text else None

    def call(self, tool, arguments):
        return self.ask("POST", *beds.stateless(tool, arguments))

    def create(self, number):
        answer, text = self.call("TaskManager", {"action": "create", "text": f"soak {number % 10}"})
        wrong = self.wrong(answer, text)
        if not wrong:
            self.tasks.append(json.loads(text)["result"]["content"][0]["text"].split("#")[1].split()[0])
        return wrong

    def complete(self, _):
        if not self.tasks:
            return None
        return self.wrong(*self.call("TaskManager", {"action": "complete", "task_id": int(self.tasks.popleft())}))

    def switch(self, number):
        return self.wrong(*self.call("TaskManager", {"action": "switch", "task_id": 1 + number % 5}))

    def pending(self, _):
        return self.wrong(*self.call("TaskManager", {"action": "pending"}))

    def status(self, _):
        return self.wrong(*self.call("PlanMode", {"action": "status"}))

    def callback(self, _):
        arguments = {"action": "set", "message": "the soak rings", "delay_seconds": 1, "repeat_count": 1}
        return self.wrong(*self.call("SetCallback", arguments))

    def session(self, _):
        """Starts, uses and ends a session, with each request at another server."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
        answer, text = self.ask("POST", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}, headers)
        if answer.status != 200:
            return f"{answer.status} {text}"
        headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
        answer, text = self.ask("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers)
        if answer.status != 202:
            return f"{answer.status} {text}"
        used = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": beds.params("TaskManager", {"action": "pending"})}
        answer, text = self.ask("POST", used, headers)
        if wrong := self.wrong(answer, text):
            return wrong
        answer, text = self.ask("DELETE", None, headers)
        return None if answer.status == 204 else f"{answer.status} {text}"


def sample(postgres, database, servers, proxy):
    found = {}
    for number, server in enumerate(servers):
        pid = server.child.pid
        found[f"rss_kib_{number}"] = beds.memory(pid)[0]
        found[f"descriptors_{number}"] = beds.descriptors(pid)
        found[f"threads_{number}"] = beds.status(pid, "Threads")
        found[f"home_bytes_{number}"] = beds.size(server.home)
    found["haproxy_rss_kib"] = beds.memory(proxy.child.pid)[0]
    found["postgres_kib"] = postgres.memory()
    found["processor_s"] = round(sum(beds.processor(server.child.pid) for server in servers), 2)
    tables = ["ended", "timer", "message", "usage"]
    rows = [f"(SELECT count(*) FROM scorpiox_code.{table})" for table in tables]
    # The usage of principals is in the namespace `usage` of a dedicated workspace.
    rows += ["(SELECT count(*) FROM scorpiox_code.entry WHERE namespace = 'usage')",
             "(SELECT count(*) FROM scorpiox_code.entry WHERE namespace <> 'usage')",
             "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid())",
             "pg_database_size(current_database())"]
    names = ["rows_ended", "rows_timer", "rows_message", "rows_sums", "rows_usage", "rows_kept", "connections",
             "database_bytes"]
    values = postgres.sql(f"SELECT {', '.join(rows)}", database).split("|")
    return found | dict(zip(names, map(int, values)))


def samples(path, look, rows, ended):
    """Writes a sample every 30 s and at the end."""
    begun = time.monotonic()
    with open(path, "w", newline="") as file:
        table = None
        for number in itertools.count(1):
            row = look()
            rows.append(row)
            if table is None:
                table = csv.DictWriter(file, row)
                table.writeheader()
            table.writerow(row)
            file.flush()
            if ended.is_set():
                return
            ended.wait(begun + number * SAMPLE_SECONDS - time.monotonic())


def line(points):
    """Returns the slope of a least-squares fit."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    below = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / below if below else 0.0


def verdict(rows, seconds, counts, out):
    kept = [row for row in rows if row["seconds"] >= seconds * SETTLING]
    if len(kept) < 3:
        print("too short for a verdict", file=out)
        return False
    print(f"{len(kept)} samples after the first {seconds * SETTLING / 60:.0f} minutes", file=out)
    print(f"{'figure':<20}{'mean':>14}{'slope/hour':>14}{'max - min':>14}  verdict", file=out)
    is_good = True
    for name in kept[0]:
        if name == "seconds":
            continue
        values = [row[name] for row in kept]
        slope = line([(row["seconds"] / 3600, row[name]) for row in kept])
        mean = sum(values) / len(values)
        is_flat = abs(slope) <= max(FLAT_SHARE * mean, FLAT_LEAST)
        holds = name.startswith(HOLDS)
        said = "flat" if is_flat else "NOT FLAT" if holds else "grows" if slope > 0 else "falls"
        is_good &= is_flat or not holds
        print(f"{name:<20}{mean:>14.1f}{slope:>14.1f}{max(values) - min(values):>14.1f}  {said}", file=out)
    first, last = kept[0], kept[-1]
    each = lambda name, by: (last[name] - first[name]) / max(1, last[by] - first[by])
    homes = sum(each(f"home_bytes_{n}", "all_calls") for n in range(SERVERS))
    print(f"for each task that was made: {each('rows_kept', 'tasks_made'):.2f} rows; "
          f"for each session that was ended: {each('rows_ended', 'sessions_ended'):.2f} rows; "
          f"for each call: {homes:.0f} bytes of audit and logs, all servers together", file=out)
    done = counts.done
    print(f"{sum(done.values()) - done['errors']} operations ({dict(done)}), {done['errors']} errors; "
          f"callbacks set {done['callback']}, told {counts.told}", file=out)
    for error, times in collections.Counter(counts.errors).most_common(5):
        print(f"  {times} x {error}", file=out)
    return is_good and not done["errors"]


def main():
    binary, seconds, path = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    with Bed(binary) as bed:
        bed.postgres = postgres = Postgres(bed)
        database = postgres.database()
        servers = [Server(bed, f"server{n}", database, tokens=PRINCIPALS) for n in range(SERVERS)]
        proxy = Proxy(bed, servers)
        due, counts, tasks = queue.Queue(), Counts(), collections.deque()
        clients = [Client(proxy.port, due, counts, tasks, number) for number in range(CLIENTS)]
        for number in range(5):
            if wrong := clients[0].wrong(*clients[0].call("TaskManager", {"action": "create", "text": f"kept {number}"})):
                raise RuntimeError(wrong)
        for client in clients:
            client.start()
        begun, rows = time.monotonic(), []
        look = lambda: {
            "seconds": round(time.monotonic() - begun, 1), **counts.interval(), "errors": counts.done["errors"],
            "all_calls": sum(counts.done.values()), "tasks_made": counts.done["create"],
            "sessions_ended": counts.done["session"], **sample(postgres, database, servers, proxy)}
        ended = threading.Event()
        sampler = threading.Thread(target=samples, args=(path, look, rows, ended), daemon=True)
        sampler.start()
        for number in itertools.count():
            second, place = divmod(number, len(SECOND))
            at = second + place / len(SECOND)
            if at >= seconds:
                break
            if not sampler.is_alive():
                raise RuntimeError("no more samples")
            time.sleep(max(0, begun + at - time.monotonic()))
            # A stride of 8 mixes the kinds, since it is coprime to their number, 51.
            due.put((begun + at, number, SECOND[place * 8 % len(SECOND)]))
            if place == 0 and second % 2 == 0:
                due.put((begun + at, number, "callback"))
        ended.set()
        sampler.join(beds.PATIENCE)
        for _ in clients:
            due.put(None)
        for client in clients:
            client.join(30)
        logs = "".join(open(server.log).read() for server in servers)
        noted = [said for said in logs.splitlines() if "panicked" in said or "WARN" in said or "ERROR" in said]
        print(f"lines of warning in the servers' logs: {len(noted)}", *noted[:5], sep="\n  ")
        return 0 if verdict(rows, seconds, counts, sys.stdout) and not noted else 1


if __name__ == "__main__":
    sys.exit(main())
