#!/usr/bin/env bash
# need.sh PROGRAM PACKAGE: installs PACKAGE if PROGRAM, which tests require, is missing.
set -euo pipefail

program=$1 package=$2
command -v "$program" >/dev/null && exit 0
as_root=
[ "$(id -u)" = 0 ] || as_root='sudo -n'
if command -v apt-get >/dev/null; then
    # Prevents packages from starting a service during installation; only the program is needed.
    export RUNLEVEL=1
    $as_root apt-get install -y --no-install-recommends "$package" >/dev/null 2>&1 || {
        $as_root apt-get update >/dev/null 2>&1 &&
            $as_root apt-get install -y --no-install-recommends "$package" >/dev/null 2>&1
    } || true
fi
command -v "$program" >/dev/null || { echo "$program is missing, which tests need; install the package $package" >&2; exit 1; }
