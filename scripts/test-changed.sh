#!/usr/bin/env bash
# Runs the unit tests of the crates that differ from the last commit.
set -euo pipefail
cd "$(dirname "$0")/.."

changed=$({ git diff --name-only HEAD && git ls-files --others --exclude-standard; } | sort -u)

# crates FOLDER: prints the packages below FOLDER with changed files, each preceded by `-p`.
crates() {
    local name
    sed -n "s|^$1/\([^/]*\)/.*|\1|p" <<<"$changed" | sort -u | while read -r name; do
        [ ! -e "$1/$name/Cargo.toml" ] || sed -n 's/^name = "\(.*\)"/-p \1/p' "$1/$name/Cargo.toml" | head -n 1
    done
}

host=$(crates host)
guests=$(crates tools-wasm)
if grep -q -- '-p scorpiox-compiler$' <<<"$host"; then
    # Tested separately, as in the build: see the Makefile.
    cargo test --quiet --release -p scorpiox-compiler
    host=$(grep -v -- '-p scorpiox-compiler$' <<<"$host" || true)
fi
# Includes the program, so that cargo selects the features of the program's build. The program also contains
# the architecture tests.
# shellcheck disable=SC2086 # names without spaces
cargo test --quiet --release --lib -p scorpiox-code $host
if [ -n "$guests" ]; then
    # shellcheck disable=SC2086
    (cd tools-wasm && cargo test --quiet --lib $guests)
fi
