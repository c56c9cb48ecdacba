"""Provides PostgreSQL, servers and haproxy for load tests. All of them end with the process that started
them."""

import ctypes
import glob
import hashlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

PASSWORD = "pass word"
NEWEST = "2026-07-28"
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)
# Maximum time for a process to start, in seconds.
PATIENCE = 60


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def dies_with_us():
    """Runs in a child before its program: the kernel kills the child when the process that started it
    exits."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def until(what, is_so, child=None):
    end = time.monotonic() + PATIENCE
    while not is_so():
        if child is not None and child.poll() is not None:
            raise RuntimeError(f"{what}: it ended with {child.returncode}")
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not within {PATIENCE} s")
        time.sleep(0.02)


def takes_connections(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def token(number):
    return f"token-of-the-load-{number:08}"


class Bed:
    """Directory and processes that are removed at the end of `with Bed(binary) as bed`."""

    def __init__(self, binary):
        self.binary = os.path.abspath(binary)
        self.folder = tempfile.mkdtemp(prefix="scorpiox-load-")
        # PostgreSQL runs as another user, who needs access.
        os.chmod(self.folder, 0o711)
        self.children = []
        self.postgres = None

    def __enter__(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit(1))
        return self

    def __exit__(self, *_):
        # Servers stop before the database that they use.
        for child in reversed(self.children):
            self.stop(child)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, command, **options):
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=dies_with_us, **options)
        self.children.append(child)
        return child

    @staticmethod
    def stop(child):
        if child.poll() is None:
            # On SIGINT, PostgreSQL does not wait for its clients. The other programs treat it like SIGTERM.
            child.send_signal(signal.SIGINT)
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def end(self, *children):
        for child in children:
            self.stop(child)
            self.children.remove(child)

    def path(self, *names):
        return os.path.join(self.folder, *names)


class Postgres:
    """Debian's PostgreSQL with durable commits."""

    def __init__(self, bed):
        folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
        if not folders:
            raise RuntimeError("PostgreSQL is missing; install the package postgresql")
        self.folder, self.port = bed.path("postgres"), free_port()
        os.mkdir(self.folder, 0o700)
        options = {"cwd": self.folder}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            options |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        secret, data = os.path.join(self.folder, "password"), os.path.join(self.folder, "data")
        with open(secret, "w") as file:
            file.write(PASSWORD)
        os.chmod(secret, 0o644)
        subprocess.run(
            [f"{folders[-1]}/initdb", "-D", data, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8",
             "--username", "owner", "--pwfile", secret],
            check=True, stdout=subprocess.DEVNULL, **options)
        with open(os.path.join(data, "postgresql.auto.conf"), "w") as file:
            file.write(
                f"listen_addresses = '127.0.0.1'\nport = {self.port}\nunix_socket_directories = '{self.folder}'\n"
                "shared_buffers = '128MB'\nmax_connections = 200\nlog_min_messages = fatal\n"
                "fsync = on\nsynchronous_commit = on\n")
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.child = bed.start([f"{folders[-1]}/postgres", "-D", data], stdout=log, stderr=log, **options)
        until("PostgreSQL starts", self.is_ready, self.child)
        self.version = self.sql("SHOW server_version").split()[0]
        self.made = 0

    def is_ready(self):
        try:
            return self.sql("SELECT 1") == "1"
        except RuntimeError:
            return False

    def sql(self, text, database="postgres"):
        """Returns the output of a query, with one line per row and `|` between columns."""
        ran = subprocess.run(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text,
             f"postgres://owner@127.0.0.1:{self.port}/{database}"],
            env=os.environ | {"PGPASSWORD": PASSWORD}, capture_output=True, text=True, timeout=PATIENCE)
        if ran.returncode:
            raise RuntimeError(ran.stderr)
        return ran.stdout.strip()

    def database(self):
        """Creates a new database and returns its name."""
        self.made += 1
        name = f"load{self.made}"
        self.sql(f"CREATE DATABASE {name}")
        return name

    def pids(self):
        """Returns the IDs of the postmaster and its children."""
        with open(f"/proc/{self.child.pid}/task/{self.child.pid}/children") as file:
            return [self.child.pid, *map(int, file.read().split())]

    def memory(self):
        """Returns the resident memory of all its processes in KiB, counting shared memory once."""
        total = 0
        for pid in self.pids():
            try:
                total += memory(pid)[1]
            except OSError:
                pass  # the process has exited
        return total


class Server:
    """Server with a separate home, unless `home` names a shared one."""

    def __init__(self, bed, name, database=None, tokens=1, workspaces=0, connections=16, home=None, power=False,
                 observed=True):
        self.home = home or bed.path(name)
        self.port, self.watched = free_port(), free_port() if observed else None
        if home is None:
            os.mkdir(self.home, 0o700)
            with open(os.path.join(self.home, "policy.toml"), "w") as file:
                file.write(self.policy(bed, database, tokens, workspaces, connections))
            os.chmod(os.path.join(self.home, "policy.toml"), 0o600)
        else:
            self.watched = None
        os.makedirs(bed.path("work"), exist_ok=True)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SCORPIOX_")}
        environment |= {"SCORPIOX_HOME": self.home, "SCORPIOX_WORKSPACE": bed.path("work"),
                        "SCORPIOX_STORE_PASSWORD": PASSWORD}
        if power:
            environment["SCORPIOX_DURABILITY"] = "power"
        self.log = bed.path(f"{name}.log")
        with open(self.log, "ab") as log:
            self.child = bed.start([bed.binary, "serve", "--http", f"127.0.0.1:{self.port}"],
                                   cwd=bed.path("work"), env=environment, stdout=log, stderr=log)
        until(f"the server {name} starts (see {self.log})", lambda: takes_connections(self.port), self.child)

    def policy(self, bed, database, tokens, workspaces, connections):
        lines = ["version = 1"]
        if database:
            address = f"postgres://owner@127.0.0.1:{bed.postgres.port}/{database}"
            lines += ["[store]", 'kind = "postgres"', f'address = "{address}"', f"connections = {connections}"]
        lines += ["[http]", 'proxies = ["127.0.0.1"]']
        if self.watched:
            lines += ["[http.observe]", f'listen = "127.0.0.1:{self.watched}"']
        for number in range(workspaces):
            os.makedirs(bed.path("work", f"w{number}"), exist_ok=True)
            lines += [f"[workspace.w{number}]", f'path = "{bed.path("work", f"w{number}")}"']
        lines += ["[http.auth]", 'kind = "token"']
        for number in range(tokens):
            hashed = hashlib.sha256(token(number).encode()).hexdigest()
            lines += [f"[http.auth.tokens.user{number}]", f'sha256 = "{hashed}"']
        return "\n".join(lines) + "\n"

    def figures(self):
        """Returns the metrics by name with labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.watched}/metrics", timeout=20) as answer:
            lines = answer.read().decode().splitlines()
        split = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, value in split}


class Proxy:
    """haproxy with round-robin balancing."""

    def __init__(self, bed, servers):
        self.port = free_port()
        lines = ["defaults", "  mode http", "  timeout connect 5s", "  timeout client 1h", "  timeout server 1h",
                 "  option redispatch", "  retries 3", "frontend clients", f"  bind 127.0.0.1:{self.port}",
                 "  maxconn 16000", "  option forwardfor", "  default_backend servers", "backend servers",
                 "  balance roundrobin", "  http-reuse always"]
        lines += [f"  server s{n} 127.0.0.1:{server.port}" for n, server in enumerate(servers)]
        path = bed.path(f"haproxy{self.port}.cfg")
        with open(path, "w") as file:
            file.write("\n".join(lines) + "\n")
        self.child = bed.start(["haproxy", "-db", "-f", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until("haproxy starts", lambda: takes_connections(self.port), self.child)


def memory(pid):
    """Returns the memory of a process in KiB: its resident memory and its proportional share."""
    values = {}
    with open(f"/proc/{pid}/smaps_rollup") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if name in ("Rss", "Pss"):
                values[name] = int(rest.split()[0])
    return values["Rss"], values["Pss"]


def status(pid, name):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(f"{name}:"))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def processor(pid):
    """Returns the processor seconds of a process and of its reaped children."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def size(folder):
    """Returns the total size of the files below a directory."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_size
            except FileNotFoundError:
                pass
    return total


def params(tool, arguments):
    return {"name": tool, "arguments": arguments}


def stateless(tool, arguments):
    """Returns the body and the headers of a call in the revision without a handshake, excluding the token."""
    meta = {"io.modelcontextprotocol/protocolVersion": NEWEST, "io.modelcontextprotocol/clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params(tool, arguments) | {"_meta": meta}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
               "MCP-Protocol-Version": NEWEST, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    return body, headers
