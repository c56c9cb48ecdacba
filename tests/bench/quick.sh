#!/usr/bin/env bash
# Builds the minimum needed to verify that the benchmark runs, quickly and once for all users, and the rmcp
# client. Prints the directory of the programs.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$PWD/target/bench/cargo-quick
cargo build --quiet --locked --workspace --no-default-features --manifest-path tests/bench/Cargo.toml --target-dir "$target"
echo "$target/debug"
