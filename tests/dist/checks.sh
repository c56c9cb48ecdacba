# shellcheck shell=bash
# Sourced by the tests of packages. Expects `$work`, a temporary folder.
: "${work:?}"

checks=0
# check WHAT COMMAND…: asserts that COMMAND succeeds. The output of COMMAND is shown only on failure.
check() {
    local what=$1
    shift
    "$@" >"$work/said" 2>&1 || { printf 'wrong %s\n' "$what" >&2; cat "$work/said" >&2; exit 1; }
    checks=$((checks + 1))
    printf 'ok    %s\n' "$what"
}
one() {
    local found
    found=$(compgen -G "$1") || { echo "there is no $1; run \`make dist\`" >&2; exit 1; }
    [ "$(wc -l <<<"$found")" = 1 ] || { echo "there are several: $found" >&2; exit 1; }
    printf '%s\n' "$found"
}

# answers TEXT PROGRAM ARGUMENT…: performs a handshake and a call in a separate home, and checks that the
# result of the call contains TEXT.
answers() {
    local text=$1 said
    shift
    mkdir -p "$work/home" "$work/project"
    # shellcheck disable=SC2016 # expanded by the command
    said=$(cd "$work/project" && printf '%s\n' \
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"dist","version":"1"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"Bash","arguments":{"command":"echo dist-$((40+2))"}}}' \
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"TaskManager","arguments":{"action":"list"}}}' |
        HOME=$work/home SCORPIOX_HOME=$work/home/.scorpiox timeout 60 "$@")
    printf '%s\n' "$said"
    grep -q '"serverInfo":{"name":"scorpiox-code"' <<<"$said" && grep -q "$text" <<<"$said" && grep -q '"id":3,"result"' <<<"$said"
}
