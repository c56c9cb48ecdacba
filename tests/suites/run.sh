#!/usr/bin/env bash
# Runs the suites that are not part of this repository: tests/suites/run.sh
#
# The folder that SCORPIOX_DATA names has a folder for each of them. CONTRIBUTING.md lists them.
set -euo pipefail
cd "$(dirname "$0")/../.."

for name in wcxb readability images/pngsuite images/misc; do
    scripts/suite.sh "$name" >/dev/null
done
SCORPIOX_DATA=$(realpath "$SCORPIOX_DATA")
export SCORPIOX_DATA
cd tools-wasm
cargo test --quiet --release -p read-docs --test suites
cargo test --quiet --release -p read-image --test suites
