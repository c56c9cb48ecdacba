#!/usr/bin/env bash
# pack-compiler.sh PROGRAM PACKED [STRIP]: packs the compiler for embedding in the host, without symbols.
# PACKED is written only if it changes, so that nothing is rebuilt unnecessarily.
set -euo pipefail
program=$1 packed=$2 strip=${3:-strip} stamp=$2.stamp

if [ -e "$packed" ] && [ "$stamp" -nt "$program" ]; then
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$strip" -o "$folder/compiler" "$program"
gzip -9n "$folder/compiler"
cmp -s "$folder/compiler.gz" "$packed" || mv "$folder/compiler.gz" "$packed"
touch "$stamp"
