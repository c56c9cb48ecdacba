#!/usr/bin/env bash
# Runs the protocol's official conformance suite against the real program: tests/conformance/run.sh [--set-up]
# BINARY
#
# The suite is pinned in package-lock.json, and installed next to this file if it is missing or has changed.
# The program serves over HTTP in separate directories, with an approved plugin that has the features the
# suite expects (tests/guests/conformance). Each scenario of both revisions is one line. A failure or a
# warning in a scored scenario makes the exit status 1. With --set-up, no scenario runs.
set -euo pipefail

set_up_alone=
if [ "${1:-}" = --set-up ]; then
    set_up_alone=1
    shift
fi
if [ $# != 1 ] || [ ! -x "$1" ]; then
    echo "usage: tests/conformance/run.sh [--set-up] BINARY; make one with 'make build'" >&2
    exit 2
fi
binary=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
component=$here/../guests/target/wasm32-unknown-unknown/release/conformance.wasm

# Maximum time for all scenarios of a revision, in seconds.
patience=120

missing() {
    echo "conformance: $1" >&2
    exit 1
}

# shellcheck source=tests/clients/node.sh
. "$here/../clients/node.sh"

set_up_node "the conformance suite"
once "$here/node_modules" "$(cat "$here/package-lock.json")" npm_ci "$here" --omit=optional
[ -z "$set_up_alone" ] || exit 0
[ -e "$component" ] || missing "the plugin is missing; build it with 'make test-components'"
suite=$here/node_modules/@modelcontextprotocol/conformance/dist/index.js

session=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$session"' EXIT
mkdir -p "$session/home/.scorpiox" "$session/workspace" "$session/plugin"
# The suite sends no token.
printf 'version = 1\n[http.auth]\nkind = "none"\n' >"$session/home/.scorpiox/policy.toml"
cp "$here/../guests/conformance/plugin/plugin.toml" "$component" "$session/plugin"

program() {
    env -i HOME="$session/home" PATH="$PATH" SCORPIOX_HOME="$session/home/.scorpiox" \
        SCORPIOX_WORKSPACE="$session/workspace" "$binary" "$@"
}

hash=$(program plugin hash "$session/plugin" --plain-names)
program plugin add "$session/plugin" --plain-names --yes "$hash" >"$session/added" ||
    { cat "$session/added" >&2; missing "the plugin was not approved"; }

env -i HOME="$session/home" PATH="$PATH" SCORPIOX_HOME="$session/home/.scorpiox" \
    SCORPIOX_WORKSPACE="$session/workspace" "$binary" serve --http 127.0.0.1:0 \
    >"$session/said" 2>"$session/errors" </dev/null &
server=$!
for _ in $(seq 100); do
    url=$(sed -n 's/.*\(http:[^ ,;]*\).*/\1/p' "$session/said" | head -n 1)
    [ -z "$url" ] || break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.05
done
[ -n "$url" ] || { cat "$session/errors" >&2; missing "the server did not start"; }

failed=0
for revision in 2026-07-28 2025-11-25; do
    # Names of the scored server scenarios.
    node "$suite" list --requirements $revision |
        sed -n '/^Server scenarios/,/^Client scenarios/s/^  - \([a-z0-9-]*\).*/\1/p' >"$session/scored"
    mkdir "$session/$revision"
    timeout "$patience" node "$suite" server --url "$url" --requirements $revision \
        --output-dir "$session/$revision" >"$session/$revision.txt" 2>&1 || true
    node "$here/report.mjs" $revision "$session/$revision" "$session/scored" || failed=1
done
if [ -s "$session/errors" ]; then
    echo "the server said:" && sort "$session/errors" | uniq -c | head -n 20
fi
[ "$failed" = 0 ]
