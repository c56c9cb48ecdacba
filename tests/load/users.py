#!/usr/bin/env python3
"""Measures the cost of many users for a server and its database, with ten calls per minute and user: users.py
BINARY TABLE [USERS/WORKSPACES/SERVERS …]

Each user has a token, a persistent connection, and a session of the revision 2025-11-25."""

import asyncio
import json
import random
import sys
import time

import bed as beds
from bed import Bed, Postgres, Proxy, Server

CASES = [(1000, 1, 1), (2000, 1, 1), (4000, 1, 1), (1000, 100, 1), (1000, 1, 3)]
SECONDS, ALONE_SECONDS = 120, 40
# Seconds between two calls of a user: ten calls per minute.
PERIOD = 6.0
# Seconds between samples. The usage of principals is written every 10 s, so the samples yield a reliable
# mean.
SAMPLE = 5
# Half of the calls are writes, and seven of eight writes change something.
TASKS = 8
READS = [("TaskManager", {"action": "pending"}), ("PlanMode", {"action": "status"})]


def some_call(chance):
    if chance.random() < 0.5:
        return "TaskManager", {"action": "switch", "task_id": chance.randint(1, TASKS)}
    return chance.choice(READS)


class User:
    def __init__(self, number, port, workspaces):
        self.chance = random.Random(number)
        self.number, self.port = number, port
        self.path = f"/w/w{number % workspaces}/mcp" if workspaces > 1 else "/mcp"
        self.session = None

    async def post(self, body):
        session = f"Mcp-Session-Id: {self.session}\r\n" if self.session else ""
        data = json.dumps(body).encode()
        self.writer.write(
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {beds.token(self.number)}\r\nAccept: application/json, text/event-stream\r\n"
            f"{session}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        text = b""
        if headers.get("transfer-encoding") == "chunked":
            while size := int((await self.reader.readline()).strip(), 16):
                text += (await self.reader.readexactly(size + 2))[:-2]
            await self.reader.readline()
        else:
            text = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return int(head[0].split()[1]), headers, text.decode()

    async def begin(self):
        self.session = None
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "user", "version": "1"}}
        status, headers, text = await self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about})
        if status != 200:
            raise RuntimeError(f"{status} {text}")
        self.session = headers["mcp-session-id"]
        await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, tool, arguments):
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": beds.params(tool, arguments)}
        status, _, text = await self.post(body)
        return None if status == 200 and '"isError":true' not in text else f"{status} {text[:200]}"

    async def use(self, begun, seconds, times, errors):
        at = begun + PERIOD * (self.number * 0.618 % 1)
        while at < begun + seconds:
            await asyncio.sleep(max(0, at - time.monotonic()))
            try:
                wrong = await self.call(*some_call(self.chance))
            except (OSError, EOFError, ValueError) as error:
                errors.append(repr(error))
                await self.begin()
                wrong = None
            times.append(time.monotonic() - at)
            if wrong:
                errors.append(wrong)
            at += PERIOD


def looked(bed, servers):
    figures = [server.figures() for server in servers]
    total = lambda name: int(sum(each.get(name, 0) for each in figures))
    return {"server_kib": sum(beds.memory(server.child.pid)[0] for server in servers),
            "database_kib": bed.postgres.memory(),
            "threads": sum(beds.status(server.child.pid, "Threads") for server in servers),
            "descriptors": sum(beds.descriptors(server.child.pid) for server in servers),
            "sessions": total("scorpiox_sessions"), "clients": total("scorpiox_connections"),
            "connections": total("scorpiox_database_connections"),
            "server_s": sum(beds.processor(server.child.pid) for server in servers),
            "database_s": sum(beds.processor(pid) for pid in bed.postgres.pids())}


def written(postgres, database):
    """Returns the number of written rows, the bytes of the write-ahead log, and further counters."""
    sql = ("SELECT n_tup_ins + n_tup_upd + n_tup_del, pg_current_wal_lsn() - '0/0'::pg_lsn, n_tup_upd, "
           "(SELECT count(*) FROM scorpiox_code.entry WHERE namespace = 'usage') "
           "FROM pg_stat_user_tables WHERE relname = 'entry'")
    return [int(value) for value in postgres.sql(sql, database).split("|")]


async def measure(bed, users, workspaces, count):
    database = bed.postgres.database()
    name = f"{users}-{workspaces}-{count}"
    servers = [Server(bed, f"{name}-{n}", database, users, workspaces if workspaces > 1 else 0) for n in range(count)]
    proxy = Proxy(bed, servers)
    people = [User(number, proxy.port, workspaces) for number in range(users)]
    # Creates a few tasks in each workspace, and triggers the one-time work of a server.
    for person in people[:workspaces]:
        await person.begin()
        for number in range(TASKS):
            await person.call("TaskManager", {"action": "create", "text": f"task {number}"})
    for _ in range(200):
        await people[0].call(*some_call(people[0].chance))
    await asyncio.sleep(12)
    before = looked(bed, servers)
    for begin in range(workspaces, users, 50):
        await asyncio.gather(*(person.begin() for person in people[begin:begin + 50]))
    after_begin = looked(bed, servers)
    rows_before, begun = written(bed.postgres, database), time.monotonic()
    started = looked(bed, servers)
    times, errors, most = [], [], dict(started)
    all_users = asyncio.gather(*(person.use(begun, SECONDS, times, errors) for person in people))
    while not all_users.done():
        await asyncio.wait([all_users], timeout=SAMPLE)
        now = await asyncio.to_thread(looked, bed, servers)
        most = {key: max(value, most[key]) for key, value in now.items()}
    lasted, ended = time.monotonic() - begun, looked(bed, servers)
    rows_after = await asyncio.to_thread(written, bed.postgres, database)
    times.sort()
    at = lambda share: 1000 * times[min(len(times) - 1, int(share * len(times)))]
    # Measures the writes while a single user makes calls: each rewrites the user's usage of the day.
    rows_alone, alone = await asyncio.to_thread(written, bed.postgres, database), time.monotonic()
    while time.monotonic() < alone + ALONE_SECONDS:
        await people[0].call("PlanMode", {"action": "status"})
        await asyncio.sleep(0.5)
    rows_alone = (await asyncio.to_thread(written, bed.postgres, database))[0] - rows_alone[0]
    bed.end(proxy.child, *(server.child for server in servers))
    return {"users": users, "workspaces": workspaces, "servers": count, "calls": len(times), "errors": len(errors),
            "first_errors": sorted(set(errors))[:3], "p50": at(0.5), "p99": at(0.99), "max": at(1), "seconds": lasted,
            "rows_a_second_alone": rows_alone / (time.monotonic() - alone),
            "rows_a_second": (rows_after[0] - rows_before[0]) / lasted,
            "log_kib_a_second": (rows_after[1] - rows_before[1]) / lasted / 1024, "usage_rows": rows_after[3],
            "server_ms_a_call": 1000 * (ended["server_s"] - started["server_s"]) / len(times),
            "database_ms_a_call": 1000 * (ended["database_s"] - started["database_s"]) / len(times),
            "before": before, "sessions_begun": after_begin, "most": most}


def main():
    binary, path, *named = sys.argv[1:]
    cases = [tuple(map(int, name.split("/"))) for name in named] or CASES
    with Bed(binary) as bed, open(path, "w") as out:
        bed.postgres = Postgres(bed)
        out.write("| users | workspaces | servers | calls/s | p50, ms | p99, ms | max, ms | errors | memory of servers: before, most, MiB "
                  "| of PostgreSQL: before, most, MiB | connections to it, most | threads, most | sessions "
                  "| rows written/s, and while one user calls | log, KiB/s | processor of servers, database: ms a call |\n"
                  + "| --- " * 16 + "|\n")
        for case in cases:
            found = asyncio.run(measure(bed, *case))
            print(json.dumps(found), flush=True)
            before, most = found["before"], found["most"]
            mib = lambda of, name: f"{of[name] / 1024:.1f}"
            cells = [*case, f"{found['calls'] / SECONDS:.0f}", f"{found['p50']:.1f}", f"{found['p99']:.1f}",
                     f"{found['max']:.0f}", found["errors"], f"{mib(before, 'server_kib')}, {mib(most, 'server_kib')}",
                     f"{mib(before, 'database_kib')}, {mib(most, 'database_kib')}", most["connections"], most["threads"],
                     most["sessions"], f"{found['rows_a_second']:.0f}, {found['rows_a_second_alone']:.0f}",
                     f"{found['log_kib_a_second']:.0f}",
                     f"{found['server_ms_a_call']:.2f}, {found['database_ms_a_call']:.2f}"]
            out.write(f"| {' | '.join(map(str, cells))} |\n")
            out.flush()


if __name__ == "__main__":
    main()
