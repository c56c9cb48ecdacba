#!/usr/bin/env bash
# trial-keys.sh FOLDER: makes temporary keys: minisign.key, minisign.pub and apt.key.
set -euo pipefail
folder=$1
mkdir -p "$folder"
minisign -G -f -W -p "$folder/minisign.pub" -s "$folder/minisign.key" >/dev/null
GNUPGHOME=$(mktemp -d)
export GNUPGHOME
trap 'gpgconf --kill all 2>/dev/null || true; rm -rf "$GNUPGHOME"' EXIT
gpg --batch --quiet --passphrase '' --quick-generate-key "trial <trial@example.com>" ed25519 sign never 2>/dev/null
gpg --batch --armor --export-secret-keys >"$folder/apt.key"
