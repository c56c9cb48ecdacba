#!/usr/bin/env bash
# Tests the Makefile from a user's point of view: building, installing, and the errors it reports.
set -euo pipefail
cd "$(dirname "$0")/.."
unset MAKEFLAGS MAKELEVEL MFLAGS

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0

check() { # check WHAT COMMAND…
    local what=$1
    shift
    "$@" || { echo "FAILED: $what" >&2; exit 1; }
    passed=$((passed + 1))
}

nothing_is_rebuilt() {
    local before after
    before=$(stat -c '%n %Y.%i' target/release/scorpiox-code target/components/*)
    make build >"$folder/said" 2>&1 || { cat "$folder/said" >&2; return 1; }
    ! grep Compiling "$folder/said" >&2 || return 1
    after=$(stat -c '%n %Y.%i' target/release/scorpiox-code target/components/*)
    diff <(printf '%s\n' "$before") <(printf '%s\n' "$after") >&2
}

# Runs the build script of the tools in a project that has no built component.
cargo_alone_names_make() {
    mkdir -p "$folder/host/tools" "$folder/tools-wasm/task-manager/src"
    touch "$folder/tools-wasm/task-manager/src/component.rs"
    rustc --edition 2024 -o "$folder/build-script" host/tools/build.rs
    ! CARGO_MANIFEST_DIR=$folder/host/tools "$folder/build-script" >"$folder/said" || return 1
    grep -q '^cargo::error=.*run `make build`' "$folder/said"
}

missing_cargo_is_one_line() {
    ! make --no-print-directory prerequisites CARGO=no-such-cargo >"$folder/out" 2>"$folder/said" || return 1
    [ "$(grep -vc '^make: ' "$folder/said")" = 1 ] && grep -q 'cargo is missing; install' "$folder/said"
}

installs_a_program_that_runs() {
    SCORPIOX_HOME=$folder/home make install >/dev/null 2>&1
    mkdir -p "$folder/project"
    cmp -s target/release/scorpiox-code "$folder/home/scorpiox-code" &&
        SCORPIOX_HOME=$folder/home "$folder/home/scorpiox-code" doctor --workspace "$folder/project" >/dev/null
}

check "only what changed is rebuilt" nothing_is_rebuilt
check "cargo alone says what to run" cargo_alone_names_make
check "a missing prerequisite gives one line" missing_cargo_is_one_line
check "make install gives a program that works" installs_a_program_that_runs
echo "building: $passed passed, 0 failed"
