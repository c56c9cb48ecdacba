#!/usr/bin/env bash
# Three servers behind haproxy at a constant rate for a time, and whether what they hold stays: soak.sh BINARY [SECONDS]
# Writes target/load/soak.csv, a line each 30 s, and target/load/soak.txt, the verdict.
set -euo pipefail
binary=$(realpath "$1") seconds=${2:-3600}
cd "$(dirname "$0")/../.."

scripts/need.sh pg_ctlcluster postgresql
scripts/need.sh haproxy haproxy
mkdir -p target/load
# Everything that it starts ends with it, by whatever signal.
exec python3 -u tests/load/soak.py "$binary" "$seconds" target/load/soak.csv > >(tee target/load/soak.txt) 2>&1
