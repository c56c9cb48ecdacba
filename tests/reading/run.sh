#!/usr/bin/env bash
# How well pages are read, beside other extractors: tests/reading/run.sh [validate SEEDS | grow]
#
# Pages with references are read from ../shared/data/wcxb, or from the folder that READING_PAGES names; they are no part of
# this project. `validate` shows how well forests that are grown on a part of the pages read the others; `grow` grows
# those of tools-wasm/content anew.
set -euo pipefail
cd "$(dirname "$0")/../.."

pages=${READING_PAGES:-$PWD/../shared/data/wcxb}
work=$PWD/target/reading
if [ ! -d "$pages/ground-truth" ]; then
    echo "reading: skipped, there are no pages in $pages" >&2
    exit 0
fi
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
