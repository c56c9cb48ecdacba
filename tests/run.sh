#!/usr/bin/env bash
# All tests, from the smallest border to the largest.
#
# Most of the time from a clean clone is spent in compilers, so each thing is built once: all host
# packages are named together, since cargo chooses features by what is named. What nothing else waits for
# is done meanwhile, by whichever processor is idle.
set -euo pipefail
cd "$(dirname "$0")/.."

section() { printf '\n== %s  (after %d s)\n' "$1" "$SECONDS"; }

# Runs beside all else, and gives way to it.
meanwhile() {
    (cd tests && cargo test --quiet --no-run)
    # What it is given is not run.
    tests/clients/run.sh --set-up "$BASH"
    tests/conformance/run.sh --set-up "$BASH"
    # There are no examples to run in the documentation.
    (cd tools-wasm && cargo test --quiet --tests)
    tests/bench/quick.sh >/dev/null
    # The fuzz targets, which are linked with nothing: libFuzzer itself is only built to fuzz.
    CUSTOM_LIBFUZZER_PATH=none/libFuzzer.a cargo check --quiet --locked --manifest-path tests/fuzz/Cargo.toml
}

mkdir -p target
export -f meanwhile
nice -n 19 bash -euo pipefail -c meanwhile > target/meanwhile.txt 2>&1 &
meanwhile=$!
trap 'kill $meanwhile 2>/dev/null || true' EXIT

section "building"
make --no-print-directory build test-components

section "the host: in memory, and attacks on the sandbox in every tier"
scripts/need.sh bwrap bubblewrap
scripts/need.sh curl curl
scripts/need.sh pg_ctlcluster postgresql
# The compiler by itself: together with the others cargo would build a wasmtime that both compiles and runs.
cargo test --quiet --release -p scorpiox-compiler
# Without `--all-targets`, which would build examples as tests: some are programs that tests start.
cargo test --quiet --release --workspace --exclude scorpiox-compiler

section "the finished program"
scripts/need.sh tmux tmux
scripts/need.sh chromium chromium
scripts/need.sh minisign minisign
scripts/need.sh nginx nginx-light
scripts/need.sh haproxy haproxy
scripts/need.sh systemd-analyze systemd
tests/team/set-up.sh
# Plugins with WASI are built for it.
[ -e "$(rustc --print sysroot)/lib/rustlib/wasm32-wasip2" ] || rustup target add wasm32-wasip2
# Most of these tests wait: for time to pass, for processes, for screens. The others measure how
# long something takes, and have the machine to themselves; and some start clients that are installed meanwhile.
measuring=(faults:: bulk:: shell::output:: plugins::many::)
clients=http::others::
(cd tests && cargo test --quiet --tests -- --test-threads $((3 * $(nproc))) "${measuring[@]/#/--skip=}" --skip=$clients)

section "tool logic, natively, and the fuzz targets, which were built meanwhile"
wait $meanwhile || { cat target/meanwhile.txt; exit 1; }
grep "^test result" target/meanwhile.txt
trap - EXIT

section "the finished program: what measures"
(cd tests && cargo test --quiet --test e2e -- "${measuring[@]}")

section "real clients"
(cd tests && cargo test --quiet --test e2e -- $clients)
tests/clients/run.sh target/release/scorpiox-code

section "the official conformance suite"
tests/conformance/run.sh target/release/scorpiox-code

section "building and installing"
tests/building.sh

section "the demo"
python3 tests/demo/demo.py target/release/scorpiox-code > target/demo.txt
tail -n 3 target/demo.txt

section "the bench runs (its figures count only from make bench)"
BENCH_QUICK=1 tests/bench/run.sh
