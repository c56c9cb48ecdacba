#!/usr/bin/env bash
# Runs all tests, from the smallest unit to the largest.
#
# From a clean clone, most of the time is spent in compilers, so everything is built only once: a single
# command names all host packages, because cargo selects features per set of named packages. Steps that
# nothing else depends on run in parallel on idle processors.
set -euo pipefail
cd "$(dirname "$0")/.."

section() { printf '\n== %s  (after %d s)\n' "$1" "$SECONDS"; }

# Runs at low priority, in parallel with the other steps.
meanwhile() {
    (cd tests && cargo test --quiet --no-run)
    # With `--set-up`, the scripts only prepare their environment and do not execute the argument.
    tests/clients/run.sh --set-up "$BASH"
    tests/conformance/run.sh --set-up "$BASH"
    # `--tests` skips doc tests, since the documentation contains no runnable examples.
    (cd tools-wasm && cargo test --quiet --tests)
    tests/bench/quick.sh >/dev/null
    # Checks the fuzz targets without linking: libFuzzer itself is built only for fuzzing.
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
# Tests the compiler separately: together with the other packages, cargo would build a wasmtime that both
# compiles and runs components.
cargo test --quiet --release -p scorpiox-compiler
# Omits `--all-targets`, which would build examples as tests: tests start some of the examples as programs.
cargo test --quiet --release --workspace --exclude scorpiox-compiler

section "the finished program"
scripts/need.sh tmux tmux
scripts/need.sh chromium chromium
scripts/need.sh minisign minisign
scripts/need.sh nginx nginx-light
scripts/need.sh haproxy haproxy
scripts/need.sh systemd-analyze systemd
tests/team/set-up.sh
# Tests build plugins for the WASI target.
[ -e "$(rustc --print sysroot)/lib/rustlib/wasm32-wasip2" ] || rustup target add wasm32-wasip2
# Most of these tests wait for time to pass, for processes or for screens. The `measuring` tests measure
# durations and need an otherwise idle machine. The `clients` tests start clients that a parallel step
# installs.
measuring=(faults:: bulk:: shell::output:: plugins::many:: web::docs::hostile http::unsent::)
clients=http::others::
(cd tests && cargo test --quiet --tests -- --test-threads $((3 * $(nproc))) "${measuring[@]/#/--skip=}" --skip=$clients)

section "tool logic, natively, and the fuzz targets, which were built meanwhile"
wait $meanwhile || { cat target/meanwhile.txt; exit 1; }
grep "^test result" target/meanwhile.txt
trap - EXIT

section "the finished program: what measures"
(cd tests && cargo test --quiet --test e2e -- --test-threads 1 "${measuring[@]}")

section "real clients"
(cd tests && cargo test --quiet --test e2e -- $clients)
tests/clients/run.sh target/release/scorpiox-code

section "the official conformance suite"
tests/conformance/run.sh target/release/scorpiox-code

section "building and installing"
tests/building.sh

section "packages of small programs, and the workflows"
scripts/need.sh rpmbuild rpm
scripts/need.sh gpg gnupg
python3 -B tests/dist/made.py
scripts/lint-workflows.sh

section "the demo"
python3 tests/demo/demo.py target/release/scorpiox-code > target/demo.txt
tail -n 3 target/demo.txt

section "the bench runs (its figures count only from make bench)"
BENCH_QUICK=1 tests/bench/run.sh
