#!/usr/bin/env bash
# Measures the program side by side with a floor written in C and an echo server built with rmcp; `make bench`
# builds the program first. Writes the table to target/bench.txt.
# BENCH_QUICK=1 takes seconds, and only verifies that the benchmark runs. BENCH_ROWS=http measures calls over
# HTTP alone.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=target/bench
mkdir -p "$work"
rm -rf "$work"/.tmp* # left by a killed run
cc -O2 -o "$work/floor" tests/bench/floor.c
cc -O2 -o "$work/refuse" tests/bench/refuse.c
cc -O2 -shared -fPIC -o "$work/balloon.so" tests/bench/balloon.c
scripts/need.sh bwrap bubblewrap
# A quick run omits rows that take minutes to build, and the code may be slow.
if [ "${BENCH_QUICK:-}" = 1 ]; then
    binaries=$(tests/bench/quick.sh)
else
    cargo build --quiet --release --locked -p bench-driver -p rmcp-echo --manifest-path tests/bench/Cargo.toml --target-dir "$work/cargo"
    binaries=$work/cargo/release
fi

measure() {
    BENCH_COMPONENTS=target/test-components RMCP_SETUP=$1 timeout 900 "$binaries/bench-driver" "$work/floor" "$binaries/rmcp-echo" \
        "${SCORPIOX_BINARY:-target/release/scorpiox-code}" "$work" "$work/$1.txt"
}

# The targets apply to the SDK's usual setup. Its fastest setup is measured for comparison.
measure usual
echo
measure fastest
{
    cat "$work/usual.txt"
    echo
    cat "$work/fastest.txt"
} > target/bench.txt
