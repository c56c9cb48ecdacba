#!/usr/bin/env bash
# Runs third-party programs and components as plugins: tests/peers/run.sh BINARY [NAME...]
#
# Builds them once, with pinned tools and sources from cargo, PyPI and npm, into target/peers. Afterwards no
# network is used.
set -euo pipefail

if [ $# -lt 1 ] || [ ! -x "$1" ]; then
    echo "usage: tests/peers/run.sh BINARY [NAME...]; make one with 'make build'" >&2
    exit 2
fi
binary=$(realpath "$1")
shift
here=$(cd "$(dirname "$0")" && pwd)
built=$here/../../target/peers
mkdir -p "$built"

python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "peers: $(python3 --version) is too old, 3.11 or newer is needed" >&2
    exit 1
}
command -v npm >/dev/null || { echo "peers: npm is missing; install Node.js 20 or newer" >&2; exit 1; }
[ -e "$(rustc --print sysroot)/lib/rustlib/wasm32-wasip2" ] || rustup target add wasm32-wasip2

PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/run.py" "$binary" "$(realpath "$built")" "$@"
