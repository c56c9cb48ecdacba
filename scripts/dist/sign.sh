#!/usr/bin/env bash
# sign.sh KEY FOLDER RELEASE: signs FOLDER/SHA256SUMS with minisign and the secret key in the file KEY. The
# trusted comment contains RELEASE and the SHA-256 of the file.
set -euo pipefail
key=$1 sums=$2/SHA256SUMS release=$3
digest=$(sha256sum "$sums" | cut -d' ' -f1)
minisign -S -s "$key" -m "$sums" -t "$release sha256=$digest" >/dev/null
