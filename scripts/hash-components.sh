#!/usr/bin/env bash
# Writes the beginning of each component's SHA-256, which the audit names it by: hash-components.sh FOLDER NAME…
# A file that would not change is not written, so that nothing is rebuilt for it.
set -euo pipefail

folder=$1
shift
for name in "$@"; do
    hash=$(sha256sum "$folder/$name.component.wasm")
    if [ "$(cat "$folder/$name.hash" 2>/dev/null)" != "${hash:0:16}" ]; then
        printf '%s' "${hash:0:16}" >"$folder/$name.hash"
    fi
done
