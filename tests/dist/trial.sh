#!/usr/bin/env bash
# trial.sh OUT: copies the output of `make dist` to OUT, and signs it there as a release is signed, with temporary keys,
# so that its installers can be tried.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$1
[ -e target/dist/SHA256SUMS ] || { echo "there are no packages; run \`make dist\`" >&2; exit 1; }
rm -rf "$out"
cp -r target/dist "$out"
rm -f "$out"/*.minisig "$out/InRelease" "$out/scorpiox-code-apt.asc"
version=$(sed -n "s/^version='\(.*\)'$/\1/p" "$out/install.sh")
tests/dist/trial-keys.sh "$out.keys"
python3 -B scripts/dist/installers.py "$out" "$version" "" "$out.keys/minisign.pub"
(cd "$out" && rm SHA256SUMS && sha256sum -- * >../SHA256SUMS.trial && mv ../SHA256SUMS.trial SHA256SUMS)
DIST_TRIAL=yes MINISIGN_KEY=$(<"$out.keys/minisign.key") APT_KEY=$(<"$out.keys/apt.key") scripts/release/sign.sh "$out"
rm -rf "$out.keys"
