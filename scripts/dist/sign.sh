#!/usr/bin/env bash
# sign.sh KEY FOLDER RELEASE [PUBLIC]: signs FOLDER/SHA256SUMS with minisign and the secret key in the file KEY. The
# trusted comment contains RELEASE and the SHA-256 of the file. With PUBLIC, also signs the archives, for
# cargo-binstall, and fails unless PUBLIC is the public key of KEY.
set -euo pipefail
key=$1 folder=$2 sums=$2/SHA256SUMS release=$3 public=${4:-}
digest=$(sha256sum "$sums" | cut -d' ' -f1)
minisign -S -s "$key" -m "$sums" -t "$release sha256=$digest" >/dev/null
[ -n "$public" ] || exit 0
minisign -V -q -P "$public" -m "$sums" || { echo "dist: the public key is not that of $key" >&2; exit 1; }
shopt -s nullglob
archives=("$folder"/scorpiox-code-*-{x64,arm64}.{tar.gz,zip})
minisign -S -s "$key" -t "$release" -m "${archives[@]}" >/dev/null
