#!/usr/bin/env bash
# Runs real clients against the real program: tests/clients/run.sh [--set-up] BINARY
#
# Installs pinned packages next to this file, and only those that are missing or have changed. Then each
# client holds one conversation for each era that it supports, in separate directories. A client is a program
# whose arguments are the era and the session's directory. That directory contains `server` (which starts the
# program there), `home` and `workspace`. The client prints a line with `ok` or `FAIL` for each step. With
# --set-up, no conversation runs.
set -euo pipefail

set_up_alone=
if [ "${1:-}" = --set-up ]; then
    set_up_alone=1
    shift
fi
if [ $# != 1 ] || [ ! -x "$1" ]; then
    echo "usage: tests/clients/run.sh [--set-up] BINARY; make one with 'make build'" >&2
    exit 2
fi
binary=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
data=$here/../data

# Maximum time for one conversation, in seconds.
patience=60
# Number of concurrent conversations, which mostly wait.
at_once=4

missing() {
    echo "real clients: $1" >&2
    exit 1
}

# shellcheck source=tests/clients/node.sh
. "$here/node.sh"

set_up_python() {
    local advice="install it with its venv; on Debian and Ubuntu: apt-get install python3 python3-venv"
    command -v python3 >/dev/null || missing "python3 is missing; $advice"
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        missing "$(python3 --version) is too old, 3.11 or newer is needed; $advice"
    python3 -c 'import ensurepip, sqlite3, venv' 2>/dev/null ||
        missing "this python3 lacks ensurepip, sqlite3 or venv; $advice"
    once "$here/.venv" "$(python3 --version; cat "$here/requirements.txt")" make_venv
    PATH=$here/.venv/bin:$PATH
    export PYTHONDONTWRITEBYTECODE=1
}

make_venv() {
    python3 -m venv --clear "$here/.venv"
    # All packages are listed with their versions, so pip need not resolve dependencies.
    "$here/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
        --requirement "$here/requirements.txt" ||
        missing "pip could not install $here/requirements.txt; is there a connection to the package index?"
}

set_up_rust() {
    command -v cargo >/dev/null || missing "cargo is missing; install Rust 1.95 or newer from https://rustup.rs"
    rust_clients=$("$here/../bench/quick.sh") || missing "the rmcp client does not build; see above"
}

# Runs a conversation concurrently with others: beside CLIENT ERA TASKS COMMAND...
begun=0
beside() {
    while [ "$(jobs -rp | wc -l)" -ge $at_once ]; do
        wait -n || true
    done
    converse "$@" &
    begun=$((begun + 1))
}

# Creates the directories of one conversation: make_session FOLDER
make_session() {
    local skills=$1/workspace/.scorpiox/skills skill
    mkdir -p "$1/home" "$skills"
    cp -R "$here/skills/." "$skills"
    for skill in executing-plans test-driven-development; do
        cp -R "$data/skills/$skill" "$skills"
    done
    mkdir "$1/workspace/pictures"
    cp "$data/images/pngsuite/cdhn2c08.png" "$data/images/misc/rgb16.bmp" "$1/workspace/pictures"
    {
        echo '#!/usr/bin/env bash'
        printf 'exec env -i STRUCTURED=true HOME=%q PATH=%q SCORPIOX_HOME=%q SCORPIOX_WORKSPACE=%q %q "$@" 2>>%q\n' \
            "$1/home" "$PATH" "$1/home/.scorpiox" "$1/workspace" "$binary" "$1/server-errors"
    } > "$1/server"
    chmod +x "$1/server"
}

# Runs one conversation: converse CLIENT ERA TASKS COMMAND..., where TASKS is the number of tasks it leaves.
converse() {
    local client=$1 era=$2 tasks=$3 folder=$sessions/$1-$2 status=0
    shift 3
    make_session "$folder"
    timeout "$patience" "$@" "$era" "$folder" 2>"$folder/errors" | tee "$folder/steps" || status=$?
    {
        if [ $status != 0 ] && ! grep -q '^FAIL' "$folder/steps"; then
            report FAIL "ends well: exit status $status; 124 means longer than $patience s"
        fi
        check_stored_tasks
    } | tee -a "$folder/steps"
    if grep -q '^FAIL' "$folder/steps"; then
        sed 's/^/      | client: /' "$folder/errors" | tail -n 20
        [ ! -e "$folder/server-errors" ] || sed 's/^/      | server: /' "$folder/server-errors" | tail -n 20
    fi
}

# Reports a step of the conversation: report ok|FAIL WHAT
report() {
    printf '%-5s %-13s %-22s %s\n' "$1" "$client" "$era" "$2"
}

# Checks that the next server finds the tasks that a server stored.
check_stored_tasks() {
    local list
    list=$("$folder/server" call TaskManager '{"action":"list","query":""}' 2>&1 | head -n 1) || true
    case $list in
    "$tasks task"*) report ok "leaves its tasks for the next server" ;;
    *) report FAIL "leaves its tasks for the next server: expected $tasks, found: $list" ;;
    esac
}

# Checks that standard error is empty after a successful conversation, since clients record or display it.
check_server_errors() {
    local written
    written=$(cat "$sessions"/*/server-errors | sort -u | head -n 5)
    if [ -z "$written" ]; then
        echo "ok    all servers wrote nothing to standard error"
    else
        echo "FAIL  all servers wrote nothing to standard error: ${written//$'\n'/;}"
    fi | tee "$sessions/all.steps"
}

set_up_python
set_up_node "the Inspector"
once "$here/node_modules" "$(cat "$here/package-lock.json")" npm_ci "$here" --omit=optional
set_up_rust
[ -z "$set_up_alone" ] || exit 0

sessions=$(mktemp -d)
trap 'rm -rf "$sessions"' EXIT

for era in initialize-2025-11-25 auto known-2026-07-28 http-initialize-2025-11-25 http-auto http-known-2026-07-28; do
    beside python $era 2 python3 "$here/python_client.py"
done
for era in initialize-2024-11-05 initialize-2025-03-26 initialize-2025-06-18 initialize-2025-11-25 \
    auto auto-in-place discover-2026-07-28 known-2026-07-28 \
    http-initialize-2025-03-26 http-initialize-2025-06-18 http-initialize-2025-11-25 http-auto http-known-2026-07-28; do
    beside typescript $era 2 node "$here/typescript.mjs"
done
for era in initialize-2025-11-25 http-initialize-2025-11-25; do
    beside typescript-v1 $era 2 node "$here/typescript_v1.mjs"
done
for era in initialize-2025-11-25 auto discover-2026-07-28 \
    http-initialize-2025-11-25 http-auto http-discover-2026-07-28; do
    beside inspector $era 1 python3 "$here/inspector.py"
done
for era in initialize-2024-11-05 initialize-2025-03-26 initialize-2025-06-18 initialize-2025-11-25 \
    initialize-2026-07-28 auto discover-2026-07-28 \
    http-initialize-2025-03-26 http-initialize-2025-06-18 http-initialize-2025-11-25 http-auto http-discover-2026-07-28; do
    beside rmcp $era 2 "$rust_clients/scorpiox-rmcp-client"
done
wait
check_server_errors

passed=$(cat "$sessions"/*/steps "$sessions/all.steps" | grep -c '^ok' || true)
failed=$(cat "$sessions"/*/steps "$sessions/all.steps" | grep -c '^FAIL' || true)
echo "real clients: $passed passed, $failed failed"
# Each completed conversation ends with a check of its tasks.
ended=$(cat "$sessions"/*/steps | grep -c 'leaves its tasks' || true)
[ "$ended" = $begun ] || { echo "real clients: $ended of $begun conversations came to their end" >&2; exit 1; }
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
