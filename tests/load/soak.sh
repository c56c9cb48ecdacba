#!/usr/bin/env bash
# Runs three servers behind haproxy at a constant rate, and checks that their resource usage is stable:
# soak.sh BINARY [SECONDS]
# Writes target/load/soak.csv, with one line every 30 s, and the verdict to target/load/soak.txt.
set -euo pipefail
binary=$(realpath "$1") seconds=${2:-3600}
cd "$(dirname "$0")/../.."

scripts/need.sh pg_ctlcluster postgresql
scripts/need.sh haproxy haproxy
mkdir -p target/load
# All processes that the script starts end with it, regardless of the signal.
exec python3 -u tests/load/soak.py "$binary" "$seconds" target/load/soak.csv > >(tee target/load/soak.txt) 2>&1
