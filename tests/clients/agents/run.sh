#!/usr/bin/env bash
# Runs popular agents against the real program: tests/clients/agents/run.sh BINARY [OPTION...]
#
# Installs pinned packages next to this file, and only those that are missing or have changed: about 2 GB,
# once. Afterwards only the loopback network is used. The options are those of run.py.
set -euo pipefail

if [ $# -lt 1 ] || [ ! -x "$1" ]; then
    echo "usage: tests/clients/agents/run.sh BINARY [OPTION...]; make one with 'make build'" >&2
    exit 2
fi
binary=$(realpath "$1")
shift
here=$(cd "$(dirname "$0")" && pwd)

missing() {
    echo "agents: $1" >&2
    exit 1
}

need() {
    command -v "$1" >/dev/null || missing "$1 is missing; on Debian and Ubuntu: apt-get install $2"
}

need python3 python3
need tmux tmux
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    missing "$(python3 --version) is too old, 3.11 or newer is needed"
command -v npm >/dev/null || missing "npm is missing; install Node 20 or newer, with npm, from https://nodejs.org"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' ||
    missing "node $(node --version) is too old, 20 or newer is needed"
[ "$(uname -s)" = Linux ] || missing "the agents are started by the programs that their packages ship for Linux"

# Skips install scripts, because they download files that no lockfile pins. Avoids `npm ci`, because it
# requires lockfile entries for other systems, which some registries lack.
stamp=$here/node_modules/.made-for
content=$(uname -m; cat "$here/package-lock.json")
if [ "$(cat "$stamp" 2>/dev/null)" != "$content" ]; then
    npm install --prefix "$here" --no-save --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null ||
        missing "npm could not install $here/package-lock.json; is there a connection to the package registry?"
    printf '%s' "$content" > "$stamp"
fi

PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/run.py" "$binary" "$@"
