#!/usr/bin/env bash
# What concerns a team's server, against the real servers that it stands on.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/need.sh pg_ctlcluster postgresql
scripts/need.sh nginx nginx-light
scripts/need.sh haproxy haproxy
tests/team/set-up.sh
tests/clients/run.sh --set-up "$BASH"
cargo test --quiet --release -p scorpiox-postgres
cd tests
cargo test --quiet --test e2e -- store:: http::replicas http::limits http::observe http::proxies http::busy http::others http::disks http::admin

# As root alone: it makes mounts and containers.
../tests/deploy/run.sh
