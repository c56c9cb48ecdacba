#!/usr/bin/env bash
# Installs third-party tools for the tests of a team's server: Prometheus, an OpenTelemetry collector, a
# browser.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/need.sh prometheus prometheus
scripts/need.sh faketime faketime
scripts/need.sh chromium chromium
scripts/need.sh chromedriver chromium-driver
# Checks the accessibility of pages.
axe=4.10.3 axe_sha256=0f2b4d7dcdf7d1219df8d1959ad68e565f51d14c3f0d88bb71cd59abeb956292
if [ ! -e target/team/axe-$axe.js ]; then
    mkdir -p target/team
    (cd target/team && npm pack --silent "axe-core@$axe" >/dev/null)
    echo "$axe_sha256  target/team/axe-core-$axe.tgz" | sha256sum --check --quiet
    tar -xzOf "target/team/axe-core-$axe.tgz" package/axe.min.js > target/team/axe.js
    mv target/team/axe.js target/team/axe-$axe.js
fi
collector=target/team/rotel
if [ ! -x "$collector/rotel-agent" ]; then
    rm -rf target/team/wheel "$collector"
    python3 -m pip download --quiet --no-deps --require-hashes --only-binary :all: \
        --platform manylinux_2_34_x86_64 --python-version 3.11 --dest target/team/wheel -r tests/team/requirements.txt
    python3 -m zipfile -e target/team/wheel/rotel-*.whl target/team/wheel
    mv target/team/wheel/rotel "$collector"
    chmod +x "$collector/rotel-agent"
fi
