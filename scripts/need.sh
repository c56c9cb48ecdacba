#!/usr/bin/env bash
# A program that tests need: scripts/need.sh PROGRAM PACKAGE installs it where it is missing.
set -euo pipefail

program=$1 package=$2
command -v "$program" >/dev/null && exit 0
as_root=
[ "$(id -u)" = 0 ] || as_root='sudo -n'
if command -v apt-get >/dev/null; then
    # Some packages start a service when they are installed, and here only a program is wanted.
    export RUNLEVEL=1
    $as_root apt-get install -y --no-install-recommends "$package" >/dev/null 2>&1 || {
        $as_root apt-get update >/dev/null 2>&1 &&
            $as_root apt-get install -y --no-install-recommends "$package" >/dev/null 2>&1
    } || true
fi
command -v "$program" >/dev/null || { echo "$program is missing, which tests need; install the package $package" >&2; exit 1; }
