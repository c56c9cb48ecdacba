#!/usr/bin/env bash
# Measures the quality of PDF reading: tests/reading/pdf/run.sh [FOLDER…]
#
# Regenerates the PDFs of make.py, reads them with ReadDocs and, if installed, with poppler's pdftotext, and
# prints the scores of score.py. The named folders contain output of other programs, NAME.md for each PDF in
# target/reading/pdf/files.
# On Debian: apt-get install texlive-latex-recommended texlive-latex-extra lmodern groff chromium
# fonts-noto-cjk fonts-dejavu poppler-utils
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
work=$root/target/reading/pdf
mkdir -p "$work"

for program in pdflatex groff chromium; do
    command -v "$program" >/dev/null || { echo "reading: skipped, $program is not installed" >&2; exit 0; }
done
if ! cmp -s requirements.txt "$work/requirements.txt"; then
    rm -rf "$work/venv"
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check --requirement requirements.txt
    cp requirements.txt "$work/requirements.txt"
fi
PYTHONDONTWRITEBYTECODE=1 "$work/venv/bin/python" make.py "$work/files"

(cd "$root/tools-wasm" && cargo build --quiet --release -p read-docs --example read_pdf)
"$root/tools-wasm/target/release/examples/read_pdf" "$work/ReadDocs" "$work"/files/*.pdf
read=("$work/ReadDocs")
if command -v pdftotext >/dev/null; then
    mkdir -p "$work/pdftotext" "$work/pdftotext-layout"
    for file in "$work"/files/*.pdf; do
        name=$(basename "$file" .pdf)
        pdftotext "$file" "$work/pdftotext/$name.md" 2>/dev/null
        pdftotext -layout "$file" "$work/pdftotext-layout/$name.md" 2>/dev/null
    done
    read+=("$work/pdftotext" "$work/pdftotext-layout")
fi
PYTHONDONTWRITEBYTECODE=1 python3 score.py "$work/files" "${read[@]}" "$@"
