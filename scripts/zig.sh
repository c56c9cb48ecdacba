#!/usr/bin/env bash
# zig.sh FOLDER: installs zig, which links programs for other systems and for older C libraries, and
# cargo-zigbuild. Both come from the Python package index in these versions.
set -euo pipefail
folder=$1 versions="ziglang==0.17.0 cargo-zigbuild==0.24.0"

[ "$(cat "$folder/versions" 2>/dev/null)" = "$versions" ] && exit 0
rm -rf "$folder"
python3 -m venv "$folder"
# shellcheck disable=SC2086 # two words
"$folder/bin/pip" install --quiet --disable-pip-version-check $versions
printf '%s\n' "$versions" > "$folder/versions"
