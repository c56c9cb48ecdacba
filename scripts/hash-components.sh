#!/usr/bin/env bash
# hash-components.sh FOLDER NAME…: writes the prefix of each component's SHA-256 that identifies it in the
# audit log. A file is written only if it changes, so that nothing is rebuilt unnecessarily.
set -euo pipefail

folder=$1
shift
for name in "$@"; do
    hash=$(sha256sum "$folder/$name.component.wasm")
    if [ "$(cat "$folder/$name.hash" 2>/dev/null)" != "${hash:0:16}" ]; then
        printf '%s' "${hash:0:16}" >"$folder/$name.hash"
    fi
done
