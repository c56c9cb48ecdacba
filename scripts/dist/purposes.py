"""The purpose of each file that `make dist` writes, in one line."""

import fnmatch

# The first matching pattern counts.
PURPOSES = [
    ("*-claude-code.tar.gz", "Claude Code: a marketplace with one plugin"),
    ("*-claude-code.zip", "Claude Code: a marketplace with one plugin"),
    ("*.tar.gz", "everyone: the program, completions, manual pages, documents"),
    ("*.zip", "everyone: the program, completions, documents"),
    ("*.deb", "Debian, Ubuntu: apt-get install ./FILE"),
    ("*.rpm", "Fedora, openSUSE: dnf install ./FILE"),
    ("*.mcpb", "Claude Desktop, and other clients that install bundles"),
    ("*.whl", "PyPI: uvx, pipx, pip"),
    ("scorpiox-code-[0-9]*.tgz", "npm: npx; starts the program of the package for the system"),
    ("scorpiox-code-*.tgz", "npm: the program for one system"),
    ("install.sh", "Linux and macOS: verifies and installs the archive"),
    ("install.ps1", "Windows: verifies and installs the archive"),
    ("scorpiox-code.rb", "Homebrew: the formula, for a tap"),
    ("scorpiox-code.json", "Scoop: the manifest, for a bucket"),
    ("binstall.toml", "cargo binstall --manifest-path FILE"),
    ("Packages", "apt: the index of the packages"),
    ("Packages.gz", "apt: the index of the packages"),
    ("Release", "apt: the sums of the index"),
    ("InRelease", "apt: the signed sums of the index"),
    ("scorpiox-code-apt.asc", "apt: the key that signed the index"),
    ("server.json", "the registry of MCP servers"),
    ("*.cdx.json", "a bill of materials: CycloneDX 1.6"),
    ("SHA256SUMS", "the sums of all files"),
    ("SHA256SUMS.minisig", "the signature of the sums"),
    ("*.minisig", "cargo binstall: the signature of an archive"),
]


def of(name):
    """Returns the purpose of a file; a file without one is an error."""
    for pattern, purpose in PURPOSES:
        if fnmatch.fnmatchcase(name, pattern):
            return purpose
    raise ValueError(f"{name} has no purpose in scripts/dist/purposes.py")
