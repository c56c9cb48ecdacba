#!/usr/bin/env bash
# What the tests of a team's server use that others made: Prometheus, and a collector of OpenTelemetry.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/need.sh prometheus prometheus
scripts/need.sh faketime faketime
collector=target/team/rotel
if [ ! -x "$collector/rotel-agent" ]; then
    rm -rf target/team/wheel "$collector"
    python3 -m pip download --quiet --no-deps --require-hashes --only-binary :all: \
        --platform manylinux_2_34_x86_64 --python-version 3.11 --dest target/team/wheel -r tests/team/requirements.txt
    python3 -m zipfile -e target/team/wheel/rotel-*.whl target/team/wheel
    mv target/team/wheel/rotel "$collector"
    chmod +x "$collector/rotel-agent"
fi
