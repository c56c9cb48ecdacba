#!/usr/bin/env bash
# All tests, from the smallest border to the largest. `make test` builds the program first.
#
# Most of the time from a clean clone is spent in compilers, so each thing is built once: all host
# packages are named together, since cargo chooses features by what is named.
set -euo pipefail
cd "$(dirname "$0")/.."

section() { printf '\n== %s  (after %d s)\n' "$1" "$SECONDS"; }

# What only computes runs beside what mostly waits, and gives way to it.
mkdir -p target
(cd tools-wasm && exec nice -n 19 cargo test --quiet --tests) > target/tools.txt 2>&1 & # no documentation has examples to run
tools=$!
trap 'kill $tools 2>/dev/null || true' EXIT

section "the host: in memory, and attacks on the sandbox in every tier"
scripts/need.sh bwrap bubblewrap
scripts/need.sh curl curl
# The compiler by itself: together with the others cargo would build a wasmtime that both compiles and runs.
cargo test --quiet --release -p scorpiox-compiler
# Without `--all-targets`, which would build examples as tests: some are programs that tests start.
cargo test --quiet --release --workspace --exclude scorpiox-compiler

section "the finished program"
scripts/need.sh tmux tmux
scripts/need.sh chromium chromium
(cd tests && cargo test --quiet --no-run)
# Most of these tests wait: for time to pass, for processes, for screens. The others measure how
# long something takes, and have the machine to themselves.
measuring=(faults:: bulk:: shell::output::)
(cd tests && cargo test --quiet --tests -- --test-threads $((3 * $(nproc))) "${measuring[@]/#/--skip=}")

section "tool logic, natively, which ran meanwhile"
wait $tools || { cat target/tools.txt; exit 1; }
grep "^test result" target/tools.txt
trap - EXIT

section "the finished program: what measures"
(cd tests && cargo test --quiet --test e2e -- "${measuring[@]}")

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
# Checked alone, they are linked with nothing: libFuzzer itself is only built to fuzz.
CUSTOM_LIBFUZZER_PATH=none/libFuzzer.a cargo check --quiet --locked --manifest-path tests/fuzz/Cargo.toml
