"""Tests check.py with workflows that have faults."""

import pathlib
import re
import shutil
import tempfile
import unittest

import check

PROJECT = pathlib.Path(__file__).resolve().parents[2]


class Faults(unittest.TestCase):
    def found(self, file, old, new):
        """Returns the faults after a change of a workflow."""
        with tempfile.TemporaryDirectory() as folder:
            project = pathlib.Path(folder)
            for name in ("scripts", "tests", "Makefile"):
                (project / name).symlink_to(PROJECT / name)
            shutil.copytree(PROJECT / ".github", project / ".github")
            path = project / ".github/workflows" / file
            text = path.read_text()
            self.assertIn(old, text)
            path.write_text(text.replace(old, new, 1))
            return "\n".join(check.faults(project))

    def test_the_workflows_have_none(self):
        self.assertEqual(list(check.faults(PROJECT)), [])

    def test_each_fault_is_found(self):
        pinned = re.search(r"actions/checkout@\S+ # \S+", (PROJECT / ".github/workflows/ci.yml").read_text())[0]
        cases = [
            ("ci.yml", "  pull_request:", "  pull_request_target:", "the event pull_request_target is not allowed"),
            ("ci.yml", "permissions:\n  contents: read", "permissions: write-all", "permissions are write-all"),
            ("ci.yml", "permissions:\n  contents: read", "", "permissions are None"),
            ("ci.yml", "run: make lint", "run: make lint && curl x | sh", "is not one plain command"),
            ("ci.yml", "run: make lint", "run: make lynt", "which the Makefile does not have"),
            ("ci.yml", "run: make lint", "run: cargo build", "starts neither a target"),
            ("ci.yml", "run: scripts/ci/rust.sh", "run: scripts/ci/gone.sh", "starts neither a target"),
            ("ci.yml", "run: make lint", "run: make ${{ github.head_ref }}", "is not one plain command"),
            ("ci.yml", pinned, "actions/checkout@v7", "is not pinned"),
            ("ci.yml", pinned, pinned.split(" #")[0], "does not name its version"),
            ("ci.yml", "persist-credentials: false", "persist-credentials: true", "leaves the token"),
            ("ci.yml", "    timeout-minutes: 60\n", "", "has no timeout-minutes"),
            ("ci.yml", "    timeout-minutes: 60\n", "    timeout-minutes: 60\n    permissions:\n      issues: write\n", "which no step needs"),
            ("release.yml", "      contents: write", "      packages: write\n      contents: write", "packages: write, which no step needs"),
            ("release.yml", "    environment: release\n", "", "outside of the environment"),
            ("release.yml", "run: scripts/release/sign.sh target/dist", "run: make dist", "holds a secret, and builds"),
        ]
        for file, old, new, expected in cases:
            self.assertIn(expected, self.found(file, old, new), (old, new))


if __name__ == "__main__":
    unittest.main()
