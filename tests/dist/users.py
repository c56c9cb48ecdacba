"""Installs the packages of a folder for this system as their users do, each into an empty folder, and checks that a
tool call is answered within a minute. Runs on Linux, macOS and Windows.

usage: users.py FOLDER TOOLS
  FOLDER  packages with signed sums, and installers for the key that signed them
  TOOLS   folder for uv and pipx, which are installed into it"""

import os
import pathlib
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

import client
import registry
import website

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/dist"))
sys.dont_write_bytecode = True
import systems  # noqa: E402

REQUIREMENTS = pathlib.Path(__file__).parent / "requirements.txt"
# Programs that the installer for a shell starts, but minisign.
USED_BY_INSTALLER = """awk cat chmod cp curl cut dd env getconf grep gzip head mkdir mktemp mv od openssl printf rm sed sh
sha256sum shasum sysctl tar tr uname wc""".split()
WINDOWS = os.name == "nt"
CPUS = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def this_system():
    os_name = {"Linux": "linux", "Darwin": "darwin", "Windows": "win32"}[platform.system()]
    cpu = CPUS[platform.machine().lower()]
    return next(system for system in systems.SYSTEMS if (system.os, system.cpu) == (os_name, cpu))


class User:
    """A person with an empty home and an empty project."""

    def __init__(self, folder, number):
        self.home = folder / f"home-{number}"
        self.project = folder / f"project-{number}"
        self.home.mkdir()
        self.project.mkdir()

    def environment(self, **more):
        return client.environment(self.home, **more)

    def run(self, *command, **more):
        return subprocess.run(
            [str(word) for word in command], env=self.environment(**more), cwd=self.project, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=client.LIMIT,
        )

    def must(self, *command, **more):
        done = self.run(*command, **more)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def is_answered(self, *command, **more):
        with client.Client([str(word) for word in command], self.environment(**more), self.project) as server:
            server.handshake()
            server.call()
            assert server.end() == 0, "the server ends with its input"


class Trial:
    def __init__(self, folder, tools, work):
        self.folder, self.work, self.count = folder, work, 0
        self.system = this_system()
        scripts = tools / ("Scripts" if WINDOWS else "bin")
        self.python, self.uv, self.uvx, self.pipx = (scripts / name for name in ("python", "uv", "uvx", "pipx"))
        self.npx = shutil.which("npx")
        self.version = self.one("scorpiox-code-[0-9]*.tgz").name.split("-")[2].removesuffix(".tgz")
        self.checks = 0

    def one(self, pattern):
        (found,) = self.folder.glob(pattern)
        return found

    @property
    def archive(self):
        return self.one(f"scorpiox-code-*-{self.system.name}{self.system.archive}")

    @property
    def wheel(self):
        return self.one(f"*-{self.system.wheel}.whl")

    def user(self):
        self.count += 1
        return User(self.work, self.count)

    def check(self, text, test, *arguments):
        """Runs a test, and returns the seconds that it took."""
        before = time.monotonic()
        test(*arguments)
        seconds = time.monotonic() - before
        self.checks += 1
        print(f"ok    {text}  ({seconds:.1f} s)", flush=True)
        return seconds

    def installs(self, text, test, *arguments):
        """Runs a test that goes from the package to an answered call, within a minute."""
        seconds = self.check(f"{text}, and it answers a call", test, *arguments)
        assert seconds < client.LIMIT, f"{text}: {seconds:.1f} s"

    def from_archive(self):
        user = self.user()
        if self.system.os == "win32":
            zipfile.ZipFile(self.archive).extractall(user.home)
        else:
            with tarfile.open(self.archive) as archive:
                archive.extractall(user.home)
        (program,) = (path for path in user.home.rglob(self.system.program) if path.is_file())
        user.is_answered(program)
        return program

    def tests_itself(self):
        self.user().must(self.from_archive(), "self-test")

    def from_npm(self, address):
        user = self.user()
        user.is_answered(self.npx, "-y", "scorpiox-code", npm_config_registry=address)

    def from_npm_files(self):
        """Installs the two files without any registry."""
        user = self.user()
        files = [self.one("scorpiox-code-[0-9]*.tgz"), self.one(f"scorpiox-code-{self.system.os}-{self.system.cpu}-*.tgz")]
        nothing = "http://127.0.0.1:9"
        npm = shutil.which("npm")
        user.must(npm, "install", "--no-audit", "--no-fund", "--prefix", user.home, *files, npm_config_registry=nothing,
                  npm_config_fetch_retries="0")
        user.is_answered(user.home / "node_modules/.bin" / ("scorpiox-code.cmd" if WINDOWS else "scorpiox-code"))

    def from_uvx(self):
        user = self.user()
        user.is_answered(self.uvx, "--offline", "--from", self.wheel, "scorpiox-code")

    def from_uvx_by_name(self):
        user = self.user()
        user.is_answered(self.uvx, "--no-index", "--find-links", self.folder, "scorpiox-code")

    def from_pip(self):
        user = self.user()
        folder = user.home / "venv"
        user.must(sys.executable, "-m", "venv", folder)
        scripts = folder / ("Scripts" if WINDOWS else "bin")
        user.must(scripts / "python", "-m", "pip", "install", "--disable-pip-version-check", "--no-index", self.wheel)
        user.is_answered(scripts / self.system.program)

    def from_pipx(self):
        user = self.user()
        places = {"PIPX_HOME": str(user.home / "pipx"), "PIPX_BIN_DIR": str(user.home / "bin")}
        user.must(self.pipx, "install", self.wheel, "--pip-args=--no-index", PIP_NO_INDEX="1", **places)
        user.is_answered(user.home / "bin" / self.system.program)

    def words_and_codes(self, address):
        """Checks that npx and uvx pass on arguments and exit codes."""
        program = self.from_archive()
        commands = {
            "npx": ([self.npx, "-y", "scorpiox-code"], {"npm_config_registry": address}),
            "uvx": ([self.uvx, "--offline", "--from", self.wheel, "scorpiox-code"], {}),
        }
        # The scripts of npm for Windows are batch files, which expand some words themselves.
        text = "text=two  spaces $HOME *" if WINDOWS else "text=two  spaces, \"quotes\" 'and' $HOME %PATH% *"
        for words in (["call", "TaskManager", "action=create", text], ["--version"], ["policy", "check", "none.toml"], ["--no-such-option"]):
            expected = self.user().run(program, *words)
            for name, (start, more) in commands.items():
                done = self.user().run(*start, *words, **more)
                assert done.returncode == expected.returncode, f"{name} {words}: {done}"
                same = done.stdout.replace("\r", "") == expected.stdout.replace("\r", "")
                assert same, f"{name} {words}: {done.stdout} is not {expected.stdout}"

    def ended_by(self, number, command, **more):
        """Returns the exit code of a server after a signal, once nothing of it is left to hold its output."""
        user = self.user()
        with client.Client([str(word) for word in command], user.environment(**more), user.project) as server:
            server.handshake()
            server.process.send_signal(number)
            code = server.process.wait(10)
            until = time.monotonic() + 10
            while server.lines.get(timeout=max(0.1, until - time.monotonic())) is not None:
                pass
            return code

    def signals(self, address):
        """Checks that signals end the server, although the client still holds its input."""
        user = self.user()
        user.must(shutil.which("npm"), "install", "--no-audit", "--no-fund", "--prefix", user.home, "scorpiox-code",
                  npm_config_registry=address)
        script, program = user.home / "node_modules/scorpiox-code/start.js", self.from_archive()
        # Under nohup, the program ignores this signal, too.
        hangup = [] if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else [signal.SIGHUP]
        for number in (signal.SIGTERM, signal.SIGINT, *hangup):
            code = self.ended_by(number, [program])
            assert self.ended_by(number, [shutil.which("node"), script]) == code, f"{number}: {code}"
        # npm passes on this signal alone, to a shell that does not; a terminal sends its own to all processes.
        self.ended_by(signal.SIGTERM, [self.npx, "-y", "scorpiox-code"], npm_config_registry=address)
        self.ended_by(signal.SIGTERM, [self.uvx, "--offline", "--from", self.wheel, "scorpiox-code"])

    def without_a_package(self):
        """Checks the sentence on a system whose package is missing, and on a system without one."""
        user = self.user()
        folder = user.home / "alone"
        with tarfile.open(self.one("scorpiox-code-[0-9]*.tgz")) as archive:
            archive.extractall(folder)
        node = shutil.which("node")
        done = user.run(node, folder / "package/start.js")
        assert done.returncode == 1 and f"the package @scorpiox/code-{self.system.os}-{self.system.cpu} is not installed" in done.stderr, done
        other = "Object.defineProperty(process, 'platform', { value: 'sunos' }); require(process.argv[1])"
        done = user.run(node, "-e", other, folder / "package/start.js")
        assert done.returncode == 1 and "there is no package for sunos-" in done.stderr, done
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr

    def verifiers(self):
        """Returns environments in which the installer finds minisign, or openssl alone."""
        if WINDOWS:
            return [{}]
        without = self.work / "without-minisign"
        if not without.exists():
            without.mkdir()
            for name in USED_BY_INSTALLER:
                if found := shutil.which(name):
                    (without / name).symlink_to(found)
        both = [{}] if shutil.which("minisign") else []
        return [*both, {"PATH": str(without)}]

    def installer(self, user, source, **more):
        """Runs the installer of a folder, and returns the process and the folder of the program."""
        into = user.home / "programs"
        if WINDOWS:
            shell = shutil.which("pwsh") or shutil.which("powershell")
            script = source / "install.ps1"
            command = [shell, "-NoProfile", "-ExecutionPolicy", "Bypass", "-File", script, "-To", into, "-From", source]
        else:
            command = [shutil.which("sh"), source / "install.sh", "--to", into, "--from", source]
        return user.run(*command, **more), into

    def from_installer(self):
        for verifier in self.verifiers():
            user = self.user()
            done, into = self.installer(user, self.folder, **verifier)
            assert done.returncode == 0, done
            assert [path.name for path in into.iterdir()] == [self.system.program], list(into.iterdir())
            user.is_answered(into / self.system.program)

    def piped(self, address, **more):
        """Runs the installer as the line `curl … | sh` does, and returns the process and the folder of the program."""
        user = self.user()
        into = user.home / "programs"
        script = (self.folder / "install.sh").read_bytes()
        command = ["sh", "-s", "--", "--to", str(into), "--from", address]
        done = subprocess.run(command, input=script, env=user.environment(**more), cwd=user.project, capture_output=True,
                              timeout=client.LIMIT)
        return done, user, into

    def from_a_website(self):
        """Checks downloads with curl and with wget, and that a site without a valid certificate is refused."""
        made, key = website.certificate(self.work)
        without_curl = self.work / "without-curl"
        without_curl.mkdir()
        for name in [*USED_BY_INSTALLER, "wget"]:
            if name != "curl" and (found := shutil.which(name)):
                (without_curl / name).symlink_to(found)
        ways = [({}, {"CURL_CA_BUNDLE": str(made)})]
        if shutil.which("wget"):
            # wget reads the authority only from its settings.
            settings = self.work / "wgetrc"
            settings.write_text(f"ca_certificate = {made}\n")
            ways.append(({"PATH": str(without_curl)}, {"WGETRC": str(settings)}))
        with website.serving(self.folder, made, key) as address:
            for way, trust in ways:
                done, user, into = self.piped(address, **way, **trust)
                assert done.returncode == 0, done
                user.is_answered(into / self.system.program)
                done, _, into = self.piped(address, **way)
                assert done.returncode == 1 and b"cannot be read; nothing was installed" in done.stderr, done
                assert not into.exists()
        done, _, into = self.piped(address.replace("https:", "http:"))
        assert done.returncode == 1 and b"is not an https:// address" in done.stderr, done
        assert not into.exists()

    def a_part_of_the_installer_does_nothing(self):
        """Checks that an installer whose download ended early, and that a shell reads from a pipe, does nothing."""
        script = (self.folder / "install.sh").read_bytes()
        for share in (0.3, 0.6, 0.9, 0.99):
            user = self.user()
            home = user.environment()
            subprocess.run(["sh"], input=script[: int(len(script) * share)], env=home, cwd=user.project, capture_output=True, timeout=client.LIMIT)
            assert not list(user.home.iterdir()) and not list(user.project.iterdir()), share

    def installer_refuses(self):
        """Checks that the installer installs nothing of a release that is not whole and signed for its version."""
        for verifier in self.verifiers():
            for name, text, spoil in self.spoilt():
                user, source = self.user(), self.work / f"spoilt-{name}"
                source.mkdir()
                for file in ("SHA256SUMS", "SHA256SUMS.minisig", self.archive.name, "install.sh", "install.ps1"):
                    shutil.copy(self.folder / file, source / file)
                spoil(source)
                done, into = self.installer(user, source, **verifier)
                assert done.returncode != 0, f"{name}: {done}"
                assert text in done.stdout + done.stderr, f"{name}: {done}"
                assert "nothing was installed" in done.stdout + done.stderr, f"{name}: {done}"
                assert not into.exists() or not list(into.iterdir()), f"{name}: {list(into.iterdir())}"
                shutil.rmtree(source)

    def spoilt(self):
        """Returns releases that an installer refuses: a name, a part of its sentence, and the change."""
        def changed(file, old, new):
            def change(source):
                data = (source / file).read_bytes()
                assert old in data, f"{file} has no {old}"
                (source / file).write_bytes(data.replace(old, new, 1))
            return change

        def longer(file):
            return lambda source: (source / file).open("ab").write(b" ")

        def renamed(source):
            for script in ("install.sh", "install.ps1"):
                data = (source / script).read_bytes()
                (source / script).write_bytes(data.replace(self.version.encode(), b"9.9.9"))

        def keyless(source):
            key = (self.folder / "install.sh").read_text().split("public='")[1].split("'")[0].encode()
            for script in ("install.sh", "install.ps1"):
                data = (source / script).read_bytes()
                (source / script).write_bytes(data.replace(key, b""))

        def of_another_key(source):
            key = (self.folder / "install.sh").read_text().split("public='")[1].split("'")[0].encode()
            other = key[:20] + (b"A" if key[20:21] != b"A" else b"B") + key[21:]
            for script in ("install.sh", "install.ps1"):
                data = (source / script).read_bytes()
                (source / script).write_bytes(data.replace(key, other))

        archive = self.archive.name
        return [
            ("archive", "does not have its signed sum", longer(archive)),
            ("sums", "is not valid", longer("SHA256SUMS")),
            ("comment", "is not valid", changed("SHA256SUMS.minisig", b"sha256=", b"sha257=")),
            ("no-signature", "cannot be read", lambda source: (source / "SHA256SUMS.minisig").unlink()),
            ("empty-signature", "is not valid", lambda source: (source / "SHA256SUMS.minisig").write_bytes(b"\n\n\n\n")),
            ("other-version", "and not for scorpiox-code 9.9.9", renamed),
            ("other-key", "is not valid", of_another_key),
            ("no-key", "made without a public key", keyless),
        ]

    def measure(self, address):
        """Prints the median times from the start to the answer of `initialize`, with warm caches."""
        program = self.from_archive()
        user = self.user()
        modules = user.home
        more = {"npm_config_registry": address, "npm_config_update_notifier": "false"}
        user.must(shutil.which("npm"), "install", "--no-audit", "--no-fund", "--prefix", modules, "scorpiox-code", **more)
        script = modules / "node_modules/scorpiox-code/start.js"
        rows = {
            "the program itself": [program],
            "the start script of the npm package": [shutil.which("node"), script],
            "npx": [self.npx, "-y", "scorpiox-code"],
            "uvx": [self.uvx, "--offline", "--from", self.wheel, "scorpiox-code"],
        }
        for text, command in rows.items():
            took = []
            for _ in range(11):
                with client.Client([str(word) for word in command], user.environment(**more), user.project) as server:
                    took.append(server.handshake())
                    server.end()
            print(f"      {text}: {statistics.median(took[1:]) * 1000:.0f} ms, the first {took[0] * 1000:.0f} ms")


def main():
    folder, tools = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory(dir=os.environ.get("USERS_FOLDER")) as work, registry.serving(folder) as address:
        trial = Trial(folder, tools, pathlib.Path(work).resolve())
        if not trial.uv.with_suffix(".exe" if WINDOWS else "").exists():
            subprocess.run([sys.executable, "-m", "venv", tools], check=True)
            subprocess.run([trial.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS], check=True)
        trial.installs("the archive is unpacked", trial.from_archive)
        trial.check("it tests itself", trial.tests_itself)
        trial.installs("npx installs it", trial.from_npm, address)
        trial.installs("npm installs the two files", trial.from_npm_files)
        trial.installs("uvx runs the wheel", trial.from_uvx)
        trial.installs("uvx finds it by its name", trial.from_uvx_by_name)
        trial.installs("pip installs the wheel", trial.from_pip)
        trial.installs("pipx installs the wheel", trial.from_pipx)
        trial.installs("the installer installs it", trial.from_installer)
        trial.check("the installer refuses what is not signed", trial.installer_refuses)
        trial.check("npx and uvx pass on arguments and exit codes", trial.words_and_codes, address)
        if trial.system.is_linux:
            trial.check("the installer downloads from a website with a certificate", trial.from_a_website)
        if not WINDOWS:
            trial.check("a part of the installer does nothing", trial.a_part_of_the_installer_does_nothing)
            trial.check("signals to the start script, npx and uvx end the server", trial.signals, address)
        trial.check("a missing package is one sentence", trial.without_a_package)
        trial.measure(address)
        print(f"{trial.checks} checks")


if __name__ == "__main__":
    main()
