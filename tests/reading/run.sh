#!/usr/bin/env bash
# Measures the extraction quality of pages side by side with other extractors: tests/reading/run.sh [validate
# SEEDS | grow]
#
# Pages with references are read from `wcxb` in $SCORPIOX_DATA; they are not part of this project. `validate`
# measures forests that are trained on a part of the pages with the other pages. `grow` retrains the forests of
# tools-wasm/content.
set -euo pipefail
cd "$(dirname "$0")/../.."

pages=$(scripts/suite.sh wcxb)
work=$PWD/target/reading
mkdir -p "$work"

with_python() {
    if ! cmp -s tests/reading/requirements.txt "$work/requirements.txt"; then
        rm -rf "$work/venv"
        python3 -m venv "$work/venv"
        "$work/venv/bin/pip" install --quiet --disable-pip-version-check --requirement tests/reading/requirements.txt
        cp tests/reading/requirements.txt "$work/requirements.txt"
    fi
    (cd tools-wasm && cargo build --quiet --release -p scorpiox-content --example blocks)
    PYTHONDONTWRITEBYTECODE=1 "$work/venv/bin/python" tests/reading/grow.py "$pages" tools-wasm/target/release/examples/blocks \
        "$work" "$@"
}

case ${1:-} in
    validate) with_python --seeds "${2:-1}" ;;
    grow) with_python --write tools-wasm/content/src ;;
    "")
        cargo build --quiet --release --manifest-path tests/reading/Cargo.toml --target-dir "$work/target"
        "$work/target/release/scorpiox-reading" "$pages"
        ;;
    *)
        echo "usage: tests/reading/run.sh [validate SEEDS | grow]" >&2
        exit 2
        ;;
esac
