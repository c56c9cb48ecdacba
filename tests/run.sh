#!/usr/bin/env bash
# All tests, from the smallest border to the largest. `make test` builds the program first.
set -euo pipefail
cd "$(dirname "$0")/.."

section() { printf '\n== %s  (after %d s)\n' "$1" "$SECONDS"; }

section "tool logic, natively"
(cd tools-wasm && cargo test --quiet)

section "the host, in memory"
cargo test --quiet --release -p scorpiox-precompile -p scorpiox-code -p scorpiox-reflect
cargo test --quiet --release -p scorpiox-rpc -p scorpiox-settings -p scorpiox-policy -p scorpiox-proxy -p scorpiox-transcript \
    -p scorpiox-ask -p scorpiox-audit -p scorpiox-browser -p scorpiox-gitdirs -p scorpiox-plugin -p scorpiox-text -p scorpiox-web

# Tests turn features of dependencies on that the program does not have, and cargo put what it
# linked with them in the program's place.
make --no-print-directory build

section "attacks on the sandbox, in every tier"
scripts/need.sh bwrap bubblewrap
scripts/need.sh curl curl
cargo test --quiet --release -p scorpiox-cell

section "the finished program"
scripts/need.sh tmux tmux
scripts/need.sh chromium chromium
(cd tests && cargo test --quiet)

section "real clients"
tests/clients/run.sh target/release/scorpiox-code

section "building and installing"
tests/building.sh

section "the demo"
python3 tests/demo/demo.py target/release/scorpiox-code > target/demo.txt
tail -n 3 target/demo.txt

section "the bench runs (its figures count only from make bench)"
BENCH_QUICK=1 tests/bench/run.sh

section "the fuzz targets compile"
command -v c++ >/dev/null || { echo "a C++ compiler is missing (libFuzzer needs it); on Debian and Ubuntu: apt-get install g++" >&2; exit 1; }
cargo check --quiet --locked --manifest-path tests/fuzz/Cargo.toml
