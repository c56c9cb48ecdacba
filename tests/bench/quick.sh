#!/usr/bin/env bash
# Builds, quickly and once for both, what only shows that the bench runs, and the client made with
# rmcp. Prints the folder of the programs.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$PWD/target/bench/cargo-quick
cargo build --quiet --locked --workspace --no-default-features --manifest-path tests/bench/Cargo.toml --target-dir "$target"
echo "$target/debug"
