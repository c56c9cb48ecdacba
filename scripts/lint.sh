#!/usr/bin/env bash
# Checks the format, clippy, and the licenses and sources of all dependencies.
set -euo pipefail
cd "$(dirname "$0")/.."

DENY_VERSION=0.20.2
deny=target/tools/bin/cargo-deny

echo "== format"
for folder in . tools-wasm tests tests/guests tests/fuzz tests/bench tests/reading examples/plugins/rust examples/plugins/notes; do
    [ -e "$folder/Cargo.toml" ] || continue
    (cd "$folder" && cargo fmt --all --check)
done

echo "== wording"
python3 scripts/wording.py

echo "== workflows"
scripts/lint-workflows.sh

echo "== lock files"
for lock in $(git ls-files '*Cargo.lock'); do
    cargo metadata --quiet --locked --format-version 1 --manifest-path "${lock%lock}toml" >/dev/null
done

echo "== clippy"
# The compiler is checked separately: together with the others, cargo would build a wasmtime that both
# compiles and runs.
cargo clippy --quiet --release -p scorpiox-compiler --all-targets -- -D warnings
cargo clippy --quiet --release --workspace --exclude scorpiox-compiler --all-targets -- -D warnings
(cd tools-wasm && cargo clippy --quiet --all-targets -- -D warnings)
(cd tests && cargo clippy --quiet --all-targets -- -D warnings)
# Checks the complete bench, because `make test` builds it without the tools, which take minutes.
cargo check --quiet --locked --workspace --manifest-path tests/bench/Cargo.toml --target-dir target/bench/cargo-check

echo "== the tests build the program that is shipped"
# A test dependency can enable a feature of a crate that the program uses too. `make test` would then build
# the program again with this feature, and test a different program.
crates() { cargo tree --quiet --locked --prefix none --format '{p} {f}' "$@" | sed 's/ (\*)$//' | sort -u; }
if other=$(comm -23 <(crates -p scorpiox-code -e normal) <(crates --workspace --exclude scorpiox-compiler -e all)) && [ -n "$other" ]; then
    printf 'under test these crates have other features; name those of the test in Cargo.toml:\n%s\n' "$other" >&2
    exit 1
fi

echo "== dependencies"
if ! "$deny" --version 2>/dev/null | grep -qF "$DENY_VERSION"; then
    cargo install --quiet --locked --root target/tools "cargo-deny@$DENY_VERSION"
fi
for folder in . tools-wasm; do
    "$deny" --log-level error --manifest-path "$folder/Cargo.toml" --config deny.toml check bans licenses sources
done
# Advisories require their database, which is downloaded.
if "$deny" --config deny.toml fetch >/dev/null 2>&1; then
    "$deny" --config deny.toml check advisories
else
    echo "advisories were not checked: their database cannot be fetched from here"
fi
