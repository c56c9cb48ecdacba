#!/usr/bin/env bash
# Tests a team's server with the real third-party servers that it depends on.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/need.sh pg_ctlcluster postgresql
scripts/need.sh nginx nginx-light
scripts/need.sh haproxy haproxy
tests/team/set-up.sh
tests/clients/run.sh --set-up "$BASH"
cargo test --quiet --release -p scorpiox-store-postgres
cd tests
cargo test --quiet --test e2e -- store:: http::replicas http::limits http::observe http::proxies http::busy http::others http::disks http::admin

# Requires root, because it creates mounts and containers.
../tests/deploy/run.sh
