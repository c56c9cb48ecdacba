"""Table of the systems that packages are made for. Every package, manifest and installer takes its names from it.

`systems.py` prints the targets, one on each line."""

import dataclasses

# Oldest supported GNU C library of Linux programs; scripts/build-for.sh links with it.
GLIBC = "2.28"
# Oldest supported macOS, as in scripts/build-for.sh.
MACOS = "11.0"


@dataclasses.dataclass(frozen=True)
class System:
    """Names of one system: of Rust's target, in file names, and in each package format."""

    target: str
    name: str
    os: str
    """Operating system, as Node and bundles name it."""
    cpu: str
    """Processor, as Node names it."""
    machine: str
    """Processor, as `uname -m` names it, and RPM."""
    wheel: str
    """Platform tag of wheels."""
    debian: str = ""

    @property
    def is_linux(self):
        return self.os == "linux"

    @property
    def program(self):
        return "scorpiox-code.exe" if self.os == "win32" else "scorpiox-code"

    @property
    def archive(self):
        return ".zip" if self.os == "win32" else ".tar.gz"

    def file(self, release):
        """Returns the name of the archive for everyone."""
        return f"{release.name}-{release.version}-{self.name}{self.archive}"


_MANYLINUX = "manylinux_" + GLIBC.replace(".", "_")
_MACOSX = "macosx_" + MACOS.replace(".", "_")

SYSTEMS = [
    System("x86_64-unknown-linux-gnu", "linux-x64", "linux", "x64", "x86_64", f"{_MANYLINUX}_x86_64", "amd64"),
    System("aarch64-unknown-linux-gnu", "linux-arm64", "linux", "arm64", "aarch64", f"{_MANYLINUX}_aarch64", "arm64"),
    System("x86_64-pc-windows-gnu", "windows-x64", "win32", "x64", "x86_64", "win_amd64"),
    System("aarch64-apple-darwin", "macos-arm64", "darwin", "arm64", "arm64", f"{_MACOSX}_arm64"),
    System("x86_64-apple-darwin", "macos-x64", "darwin", "x64", "x86_64", f"{_MACOSX}_x86_64"),
]


def of(target):
    """Returns the system of a target of Rust's."""
    return next(system for system in SYSTEMS if system.target == target)


if __name__ == "__main__":
    print("\n".join(system.target for system in SYSTEMS))
