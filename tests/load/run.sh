#!/usr/bin/env bash
# Measures the throughput of servers and the cost of users: run.sh BINARY [ROW …]. Writes target/load/*.md;
# docs/scale.md explains them.
set -euo pipefail
binary=$(realpath "$1")
shift
cd "$(dirname "$0")/../.."

scripts/need.sh pg_ctlcluster postgresql
scripts/need.sh haproxy haproxy
mkdir -p target/load
rustc -O --edition 2024 -o target/load/generator tests/load/generator.rs
# All processes that the scripts start end with them, regardless of the signal.
python3 tests/load/load.py "$binary" target/load/generator target/load "$@"
[ $# -gt 0 ] || python3 tests/load/users.py "$binary" target/load/users.md
