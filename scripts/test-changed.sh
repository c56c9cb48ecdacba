#!/usr/bin/env bash
# The unit tests of the crates that differ from the last commit.
set -euo pipefail
cd "$(dirname "$0")/.."

changed=$({ git diff --name-only HEAD && git ls-files --others --exclude-standard; } | sort -u)

# crates FOLDER: the names of the packages below it that have a changed file, each behind `-p`.
crates() {
    local name
    sed -n "s|^$1/\([^/]*\)/.*|\1|p" <<<"$changed" | sort -u | while read -r name; do
        [ ! -e "$1/$name/Cargo.toml" ] || sed -n 's/^name = "\(.*\)"/-p \1/p' "$1/$name/Cargo.toml" | head -n 1
    done
}

host=$(crates host)
guests=$(crates tools-wasm)
if grep -q -- '-p scorpiox-compiler$' <<<"$host"; then
    # By itself, as it is built: see the Makefile.
    cargo test --quiet --release -p scorpiox-compiler
    host=$(grep -v -- '-p scorpiox-compiler$' <<<"$host" || true)
fi
# With the program, so that cargo chooses the features that the program is built with; it has the tests of
# the layers, too.
# shellcheck disable=SC2086 # names without spaces
cargo test --quiet --release --lib -p scorpiox-code $host
if [ -n "$guests" ]; then
    # shellcheck disable=SC2086
    (cd tools-wasm && cargo test --quiet --lib $guests)
fi
