"""Tests the packages of all systems, made of small programs: that they are reproducible, name each other rightly, and
that nothing is signed with a key that users could not verify.

usage: made.py; needs the program of `make build`, `rpmbuild`, `gpg` and `minisign`"""

import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts/dist"))
import npm  # noqa: E402
import purposes  # noqa: E402
import systems  # noqa: E402

REPOSITORY = "https://example.com/made/scorpiox-code-mcp"
WHEN = "1700000000"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Made(unittest.TestCase):
    # With the version, these are the names that packages take from a release.
    name = "scorpiox-code"

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.temporary.name)
        for system in systems.SYSTEMS:
            program = cls.work / "built" / system.target / "release" / system.program
            program.parent.mkdir(parents=True)
            program.write_text(f"#!/bin/sh\necho {system.name}\n")
        cls.keys = cls.work / "keys"
        cls.keys.mkdir(mode=0o700)
        subprocess.run(["minisign", "-G", "-W", "-p", cls.keys / "a.pub", "-s", cls.keys / "a.key"], check=True, capture_output=True)
        subprocess.run(["minisign", "-G", "-W", "-p", cls.keys / "b.pub", "-s", cls.keys / "b.key"], check=True, capture_output=True)
        cls.out = cls.work / "out"
        cls.printed = cls.pack(cls.out, DIST_KEY=cls.keys / "a.key").stdout
        (cls.start,) = cls.out.glob("scorpiox-code-[0-9]*.tgz")
        cls.version = cls.start.name.removeprefix("scorpiox-code-").removesuffix(".tgz")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def pack(cls, out, targets=None, **more):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("DIST_")}
        environment |= {"DIST_BUILT": cls.work / "built", "DIST_REPOSITORY": REPOSITORY, "SOURCE_DATE_EPOCH": WHEN}
        command = [sys.executable, "-B", ROOT / "scripts/dist/pack.py", out, *(targets or [system.target for system in systems.SYSTEMS])]
        done = subprocess.run(command, env={**environment, **more}, capture_output=True, text=True)
        if done.returncode and "DIST_MAY_FAIL" not in more:
            raise AssertionError(done.stderr)
        return done

    def read(self, name):
        return (self.out / name).read_bytes()

    def test_the_same_programs_give_the_same_bytes(self):
        again = self.work / "again"
        self.pack(again, DIST_KEY=self.keys / "a.key", TZ="Asia/Tokyo", LC_ALL="C", HOME=os.environ["HOME"])
        names = sorted(path.name for path in self.out.iterdir())
        self.assertEqual(names, sorted(path.name for path in again.iterdir()))
        self.assertEqual([name for name in names if self.read(name) != (again / name).read_bytes()], [])

    def test_each_file_is_printed_with_its_purpose(self):
        lines = self.printed.splitlines()
        for path in self.out.iterdir():
            shown = [line for line in lines if f"  {path.name} " in line]
            self.assertEqual(len(shown), 1, path.name)
            self.assertTrue(shown[0].endswith(purposes.of(path.name)), shown)
        with self.assertRaises(ValueError):
            purposes.of("unknown.exe")

    def test_the_sums_are_those_of_the_files(self):
        sums = dict(reversed(line.split("  ")) for line in self.read("SHA256SUMS").decode().splitlines())
        unsummed = {path.name for path in self.out.iterdir()} - set(sums)
        archives = {f"{system.file(self)}.minisig" for system in systems.SYSTEMS}
        self.assertEqual(unsummed, {"SHA256SUMS", "SHA256SUMS.minisig"} | archives)
        for name, digest in sums.items():
            self.assertEqual(digest, sha256(self.read(name)), name)

    def test_npm_chooses_one_package_for_each_system(self):
        def manifest(file):
            with tarfile.open(self.out / file) as archive:
                return json.load(archive.extractfile("package/package.json")), archive.getnames()

        start, _ = manifest(self.start.name)
        self.assertNotIn("scripts", start)
        self.assertEqual(start["bin"], {"scorpiox-code": "start.js"})
        self.assertEqual(start["optionalDependencies"], {npm.name(system): self.version for system in systems.SYSTEMS})
        for system in systems.SYSTEMS:
            about, names = manifest(f"scorpiox-code-{system.os}-{system.cpu}-{self.version}.tgz")
            self.assertEqual(about["name"], npm.name(system))
            self.assertEqual((about["os"], about["cpu"]), ([system.os], [system.cpu]))
            self.assertEqual(about.get("libc"), ["glibc"] if system.is_linux else None)
            self.assertNotIn("scripts", about)
            self.assertIn(f"package/{system.program}", names)

    def test_wheels_are_as_specified(self):
        for system in systems.SYSTEMS:
            with zipfile.ZipFile(self.out / f"scorpiox_code-{self.version}-py3-none-{system.wheel}.whl") as wheel:
                info = f"scorpiox_code-{self.version}.dist-info"
                self.assertIn(f"Tag: py3-none-{system.wheel}\n", wheel.read(f"{info}/WHEEL").decode())
                rows = list(csv.reader(io.StringIO(wheel.read(f"{info}/RECORD").decode())))
                self.assertEqual(sorted(row[0] for row in rows), sorted(wheel.namelist()))
                for path, digest, size in rows:
                    if path != f"{info}/RECORD":
                        data = wheel.read(path)
                        known = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                        self.assertEqual((digest, size), (f"sha256={known}", str(len(data))), path)
                script = wheel.getinfo(f"scorpiox_code-{self.version}.data/scripts/{system.program}")
                self.assertEqual(script.external_attr >> 16, 0o100755)
                head = wheel.read(f"{info}/METADATA").decode().split("\n\n")[0].splitlines()
                for path in [line.split(": ")[1] for line in head if line.startswith("License-File")]:
                    self.assertIn(f"{info}/licenses/{path}", wheel.namelist())

    def test_tags_name_the_systems_that_the_build_links_for(self):
        build = (ROOT / "scripts/build-for.sh").read_text()
        self.assertEqual(re.search(r"^glibc=(.*)$", build, re.M)[1], systems.GLIBC)
        self.assertEqual(re.search(r"MACOSX_DEPLOYMENT_TARGET=(\S+)", build)[1], systems.MACOS)
        self.assertIn(f" {systems.GLIBC} ", (ROOT / "scripts/dist.sh").read_text())

    def test_the_document_has_the_table_of_systems(self):
        page = (ROOT / "docs/packaging.md").read_text()
        rows = [f"| `{system.name}` | `{npm.name(system)}` | `{system.wheel}` |" for system in systems.SYSTEMS]
        self.assertIn("\n".join(rows), page)

    def test_recipes_name_the_archives_with_their_sums(self):
        downloads = f"{REPOSITORY}/releases/download/v{self.version}/"
        formula = self.read("scorpiox-code.rb").decode()
        named = dict(re.findall(r'url "(.*)"\s+sha256 "(.*)"', formula))
        unix = [system for system in systems.SYSTEMS if system.os != "win32"]
        expected = {downloads + system.file(self): sha256(self.read(system.file(self))) for system in unix}
        self.assertEqual(named, expected)
        app = json.loads(self.read("scorpiox-code.json"))
        (windows,) = [system for system in systems.SYSTEMS if system.os == "win32"]
        file = windows.file(self)
        self.assertEqual(app["architecture"], {"64bit": {"url": downloads + file, "hash": sha256(self.read(file))}})
        self.assertEqual(app["bin"], windows.program)
        binstall = tomllib.loads(self.read("binstall.toml").decode())["package"]["metadata"]["binstall"]
        for system in systems.SYSTEMS:
            of_target = binstall["overrides"][system.target]
            values = {"repo": REPOSITORY, "version": self.version, "name": self.name, "bin": self.name,
                      "binary-ext": ".exe" if system.os == "win32" else ""}
            url, program = (re.sub(r"\{ (\S+) \}", lambda match: values[match[1]], of_target[key]) for key in ("pkg-url", "bin-dir"))
            self.assertEqual(url, downloads + system.file(self))
            path = self.out / system.file(self)
            names = zipfile.ZipFile(path).namelist() if system.os == "win32" else tarfile.open(path).getnames()
            self.assertIn(program, names)

    def test_each_archive_is_signed_by_the_key_that_recipes_name(self):
        binstall = tomllib.loads(self.read("binstall.toml").decode())["package"]["metadata"]["binstall"]
        public = (self.keys / "a.pub").read_text().splitlines()[-1]
        self.assertEqual(binstall["signing"]["pubkey"], public)
        for name in ["SHA256SUMS", *(system.file(self) for system in systems.SYSTEMS)]:
            subprocess.run(["minisign", "-V", "-q", "-P", public, "-m", self.out / name], check=True)
        for installer in ("install.sh", "install.ps1"):
            text = self.read(installer).decode()
            self.assertIn(public, text)
            self.assertEqual(re.findall("@[A-Z_]+@", text), [])
        for system in systems.SYSTEMS:
            self.assertIn(system.name, self.read("install.ps1" if system.os == "win32" else "install.sh").decode())

    def test_the_index_for_apt_names_the_packages_with_their_sums(self):
        entries = [dict(re.findall(r"^(\S+): (.*)$", text, re.M)) for text in self.read("Packages").decode().split("\n\n")]
        self.assertEqual([entry["Architecture"] for entry in entries], ["amd64", "arm64"])
        for entry in entries:
            data = self.read(entry["Filename"])
            self.assertEqual((entry["SHA256"], entry["Size"]), (sha256(data), str(len(data))))
        for digest, size, name in re.findall(r"^ ([0-9a-f]{64}) (\d+) (\S+)$", self.read("Release").decode(), re.M):
            self.assertEqual((digest, int(size)), (sha256(self.read(name)), len(self.read(name))))

    def test_a_public_key_that_is_missing_or_of_another_key_is_refused(self):
        linux = [systems.SYSTEMS[0].target]
        (self.keys / "lonely.key").write_bytes((self.keys / "a.key").read_bytes())
        done = self.pack(self.work / "lonely", linux, DIST_KEY=self.keys / "lonely.key", DIST_MAY_FAIL="")
        self.assertEqual(done.returncode, 1)
        self.assertIn("lonely.pub is missing; DIST_PUBLIC_KEY names", done.stderr)
        done = self.pack(self.work / "other", linux, DIST_KEY=self.keys / "a.key", DIST_PUBLIC_KEY=self.keys / "b.pub", DIST_MAY_FAIL="")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the public key is not that of", done.stderr)

    def test_without_a_key_the_installer_refuses(self):
        out = self.work / "unsigned"
        done = self.pack(out, [systems.SYSTEMS[0].target])
        self.assertIn("SHA256SUMS is not signed", done.stderr)
        self.assertEqual([path.name for path in out.glob("*.minisig")], [])
        refused = subprocess.run(["sh", out / "install.sh", "--from", out, "--to", out / "x"], capture_output=True, text=True)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("made without a public key", refused.stderr)

    def test_a_contact_that_is_a_placeholder_is_never_shipped(self):
        placeholder = "@example.com" in (ROOT / "SECURITY.md").read_text()
        self.assertTrue(placeholder, "with a real contact, this test has nothing to check; remove it")
        done = subprocess.run([ROOT / "scripts/dist.sh"], cwd=ROOT, capture_output=True, text=True,
                              env={**os.environ, "DIST_KEY": str(self.keys / "a.key"), "DIST_TARGETS": "none"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("SECURITY.md has no real contact", done.stderr)


if __name__ == "__main__":
    unittest.main()
