#!/usr/bin/env bash
# oldest.sh PROGRAM VERSION: fails if PROGRAM needs a GNU C library that is newer than VERSION.
set -euo pipefail
program=$1 most=$2
needed=$(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -Vu | tail -n 1)
[ -n "$needed" ] || { echo "dist: $program names no version of the C library" >&2; exit 1; }
if [ "$(printf '%s\n' "$needed" "$most" | sort -V | tail -n 1)" != "$most" ]; then
    echo "dist: $program needs GLIBC_$needed; at most $most is promised" >&2
    exit 1
fi
