#!/usr/bin/env bash
# All tests, from the smallest border to the largest. `make test` builds the program first.
set -euo pipefail
cd "$(dirname "$0")/.."

section() { printf '\n== %s\n' "$1"; }

section "tool logic, natively"
(cd tools-wasm && cargo test --quiet)

section "the host, in memory"
cargo test --quiet --release -p scorpiox-precompile -p scorpiox-code
cargo test --quiet --release -p scorpiox-rpc -p scorpiox-settings

section "the finished program"
(cd tests && cargo test --quiet)

if [ -x tests/clients/run.sh ]; then
    section "real clients"
    tests/clients/run.sh target/release/scorpiox-code
fi
