"""Packages that only exist on Linux."""

import os
import pathlib
import subprocess
import tempfile

import archives
import systems

MAINTAINER = os.environ.get("DIST_MAINTAINER") or "scorpiox <scorpiox@example.com>"
SUMMARY = "MCP server whose tools run in sandboxes"
DETAILS = """scorpiox-code is started by AI clients over standard input and output. It gives them a
shell, web pages, web search, images, task lists, plans, questions, callbacks and
skills. Tool logic runs in WebAssembly sandboxes, commands run in a sandbox of the
operating system, and each has only the rights that it was granted."""
# On Ubuntu only programs with a profile may create user namespaces, which the sandbox for commands requires.
APPARMOR = b"""# scorpiox-code makes user namespaces for the commands that it runs, and confines them itself.
abi <abi/4.0>,
include <tunables/global>

profile scorpiox-code /usr/bin/scorpiox-code flags=(unconfined) {
  userns,
  include if exists <local/scorpiox-code>
}
"""
# Older AppArmor versions support neither the syntax of the file nor the restriction.
LOAD_PROFILE = """if [ -d /sys/kernel/security/apparmor ] && command -v apparmor_parser >/dev/null &&
    [ -e /etc/apparmor.d/abi/4.0 ]; then
    apparmor_parser -r -T -W /etc/apparmor.d/scorpiox-code || true
fi
"""
UNLOAD_PROFILE = """if [ -d /sys/kernel/security/apparmor ] && command -v apparmor_parser >/dev/null &&
    [ -e /etc/apparmor.d/abi/4.0 ]; then
    apparmor_parser -R /etc/apparmor.d/scorpiox-code || true
fi
"""


def installed(files, when):
    """Returns the installed files of a Linux package: {path: (bytes, mode)}."""
    placed = {
        "usr/bin/scorpiox-code": files["scorpiox-code"],
        "usr/share/bash-completion/completions/scorpiox-code": files["completions/scorpiox-code.bash"],
        "usr/share/zsh/vendor-completions/_scorpiox-code": files["completions/_scorpiox-code"],
        "usr/share/fish/vendor_completions.d/scorpiox-code.fish": files["completions/scorpiox-code.fish"],
        "etc/apparmor.d/scorpiox-code": (APPARMOR, 0o644),
    }
    for path, (data, mode) in files.items():
        if path.startswith("man/"):
            placed[f"usr/share/man/man1/{path.removeprefix('man/')}.gz"] = (archives.gzipped(data, 0), mode)
        elif path.endswith(".md") or path.startswith("LICENSE"):
            placed[f"usr/share/doc/scorpiox-code/{path}"] = (data, mode)
    return placed


def deb(out, release, system, files, when):
    """Writes a package for Debian, and returns its control file."""
    architecture = system.debian
    placed = installed(files, when)
    size = sum(len(data) for data, _ in placed.values()) // 1024
    details = "\n".join(f" {line}" for line in DETAILS.splitlines())
    control = f"""Package: scorpiox-code
Version: {release.version}
Architecture: {architecture}
Maintainer: {MAINTAINER}
Installed-Size: {size}
Depends: libc6 (>= {systems.GLIBC})
Recommends: bash, ca-certificates
Suggests: bubblewrap
Section: utils
Priority: optional
Description: {SUMMARY}
{details}
"""
    scripts = {
        "control": (control.encode(), 0o644),
        "conffiles": (b"/etc/apparmor.d/scorpiox-code\n", 0o644),
        "postinst": (f'#!/bin/sh\nset -e\nif [ "$1" = configure ]; then\n{LOAD_PROFILE}fi\n'.encode(), 0o755),
        "prerm": (f'#!/bin/sh\nset -e\nif [ "$1" = remove ]; then\n{UNLOAD_PROFILE}fi\n'.encode(), 0o755),
    }
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.gz": archives.gzipped(archives.tar(scripts, when, "./"), when),
        "data.tar.gz": archives.gzipped(archives.tar(placed, when, "./"), when),
    }
    (out / f"scorpiox-code_{release.version}_{architecture}.deb").write_bytes(archives.ar(members, when))
    return control


def rpm(out, release, system, files, when):
    placed = installed(files, when)
    # Location on Fedora.
    for old, new in {"zsh/vendor-completions": "zsh/site-functions"}.items():
        for path in [path for path in placed if old in path]:
            placed[path.replace(old, new)] = placed.pop(path)
    with tempfile.TemporaryDirectory() as folder:
        top, root = pathlib.Path(folder), pathlib.Path(folder) / "root"
        for path, (data, mode) in placed.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            file.chmod(mode)
            os.utime(file, (when, when))
        listed = []
        for path in sorted(placed):
            kind = "%config(noreplace) " if path.startswith("etc/") else "%doc " if "/doc/" in path else ""
            listed.append(f"{kind}/{path}")
        spec = f"""Name: scorpiox-code
Version: {release.version}
Release: 1
Summary: {SUMMARY}
License: MIT OR Apache-2.0
Requires: glibc >= {systems.GLIBC}
Recommends: bash, ca-certificates
AutoReqProv: no
%description
{DETAILS}
%install
cp -a {root}/. %{{buildroot}}/
%post
{LOAD_PROFILE}%preun
if [ "$1" = 0 ]; then
{UNLOAD_PROFILE}fi
%files
%defattr(-,root,root,-)
{chr(10).join(listed)}
"""
        (top / "scorpiox-code.spec").write_text(spec)
        settings = {
            "_topdir": top / "build",
            "_rpmdir": top / "out",
            "_buildhost": "localhost",
            "_build_id_links": "none",
            "use_source_date_epoch_as_buildtime": "1",
            "clamp_mtime_to_source_date_epoch": "1",
            "source_date_epoch_from_changelog": "0",
            "_binary_payload": "w9.gzdio",
            "__os_install_post": "%{nil}",
            "debug_package": "%{nil}",
        }
        defined = [word for name, value in settings.items() for word in ("--define", f"{name} {value}")]
        command = ["rpmbuild", "-bb", "--quiet", "--target", f"{system.machine}-linux", *defined, top / "scorpiox-code.spec"]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(when)}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        (built,) = (top / "out").rglob("*.rpm")
        (out / f"scorpiox-code-{release.version}-1.{system.machine}.rpm").write_bytes(built.read_bytes())
