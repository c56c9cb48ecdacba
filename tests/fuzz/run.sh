#!/usr/bin/env bash
# Fuzzes each target, or only the named ones, for FUZZ_SECONDS (60): tests/fuzz/run.sh [TARGET…]
#
# Uses libFuzzer with the stable compiler: coverage is an LLVM pass, and safe Rust code needs no sanitizer.
# Findings and corpora are stored in target/fuzz.
set -euo pipefail
cd "$(dirname "$0")"

command -v c++ >/dev/null || { echo "a C++ compiler is missing (libFuzzer needs it); on Debian and Ubuntu: apt-get install g++" >&2; exit 1; }

seconds=${FUZZ_SECONDS:-60}
host=$(rustc -vV | sed -n 's/^host: //p')
root=../../target/fuzz
mkdir -p "$root"
root=$(cd "$root" && pwd)
images=(../data/images ../../tools-wasm/read-image/tests/data)

export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cdebug-assertions -Coverflow-checks -Ccodegen-units=1 --cfg fuzzing"
cargo build --quiet --release --target "$host"

targets=("$@")
if [ ${#targets[@]} = 0 ]; then
    targets=(framing envelope settings front_matter task_manager plan_mode set_callback invoke_skill questions read_docs read_pdf content read_image web_search search_results \
        policy programs hosts git_config proxy_head transcript manifest audit \
        http_request session_id jwt jwks)
fi

failed=0
for target in "${targets[@]}"; do
    corpus=$root/corpus/$target
    mkdir -p "$corpus" "$root/findings"
    seeds=()
    [ -d "seeds/$target" ] && seeds=("seeds/$target")
    if [ "$target" = read_image ]; then
        seeds+=("${images[@]}")
    fi
    log=$root/$target.log
    if "target/$host/release/$target" "$corpus" "${seeds[@]}" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=2048 -max_len=16384 -artifact_prefix="$root/findings/$target-" >"$log" 2>&1; then
        runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")
        echo "$target: no findings in $runs runs, ${seconds}s"
    else
        failed=1
        echo "$target: FOUND SOMETHING; see $log and $root/findings"
        tail -n 20 "$log"
    fi
done
exit $failed
