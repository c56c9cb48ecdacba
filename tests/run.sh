#!/usr/bin/env bash
# All tests, from the smallest border to the largest. `make test` builds the program first.
#
# Most of the time from a clean clone is spent in compilers, so each thing is built once: all host
# packages are named together, since cargo chooses features by what is named, and what only later
# sections need is built while tests wait.
set -euo pipefail
cd "$(dirname "$0")/.."

section() { printf '\n== %s  (after %d s)\n' "$1" "$SECONDS"; }

need_compiler() {
    command -v c++ >/dev/null && return
    echo "a C++ compiler is missing (libFuzzer needs it); on Debian and Ubuntu: apt-get install g++" >&2
    exit 1
}

fuzz_targets() { cargo check --quiet --locked --manifest-path tests/fuzz/Cargo.toml; }

# Their sections build the same again, find it done, and tell what does not build.
build_ahead() {
    tests/clients/run.sh --set-up target/release/scorpiox-code
    fuzz_targets
}

section "tool logic, natively"
(cd tools-wasm && cargo test --quiet --tests) # no documentation has examples to run

section "the host: in memory, and attacks on the sandbox in every tier"
need_compiler
scripts/need.sh bwrap bubblewrap
scripts/need.sh curl curl
# The compiler by itself: together with the others cargo would build a wasmtime that both compiles and runs.
cargo test --quiet --release -p scorpiox-compiler
# Without `--all-targets`, which would build examples as tests: some are programs that tests start.
cargo test --quiet --release --workspace --exclude scorpiox-compiler

# Tests turn features of dependencies on that the program does not have, and cargo put what it
# linked with them in the program's place.
make --no-print-directory build

section "the finished program"
scripts/need.sh tmux tmux
scripts/need.sh chromium chromium
(cd tests && cargo test --quiet --no-run)
# A session of its own, so that it can be ended whole.
setsid nice -n 19 bash -c "set -e; $(declare -f fuzz_targets build_ahead); build_ahead" >target/ahead.log 2>&1 </dev/null &
ahead=$!
trap 'kill -- -$ahead 2>/dev/null || true' EXIT
# Most of these tests wait: for time to pass, for processes, for screens. The others measure how
# long something takes, and have the machine to themselves.
measuring=(faults:: bulk:: shell::output::)
(cd tests && cargo test --quiet --tests -- --test-threads $((2 * $(nproc))) "${measuring[@]/#/--skip=}")
wait $ahead || true
trap - EXIT
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
fuzz_targets
