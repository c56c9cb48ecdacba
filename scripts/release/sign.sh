#!/usr/bin/env bash
# sign.sh FOLDER: signs the packages that `make dist` made with DIST_PUBLIC_KEY. MINISIGN_KEY is the secret key of
# minisign, without a password. APT_KEY is the secret key of gpg for the index of apt, in ASCII armor. The keys are
# written only into a temporary folder of this user.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$1
[ -n "${MINISIGN_KEY:-}" ] || { echo "release: MINISIGN_KEY is empty" >&2; exit 1; }
[ -n "${APT_KEY:-}" ] || { echo "release: APT_KEY is empty" >&2; exit 1; }
if [ -z "${DIST_TRIAL:-}" ] && grep -q '@example\.com' SECURITY.md; then
    echo "release: SECURITY.md has no real contact; replace its address at example.com before you sign packages" >&2
    exit 1
fi
scripts/need.sh minisign minisign
scripts/need.sh gpg gnupg
umask 077
keys=$(mktemp -d)
export GNUPGHOME=$keys/gnupg
end() {
    gpgconf --kill all 2>/dev/null || true
    rm -rf "$keys"
}
trap end EXIT
mkdir "$GNUPGHOME"
printf '%s\n' "$MINISIGN_KEY" >"$keys/minisign.key"
gpg --batch --quiet --import <<<"$APT_KEY"
fingerprint=$(gpg --batch --list-secret-keys --with-colons | sed -n 's/^fpr:*\([0-9A-F]*\):$/\1/p' | head -n 1)
umask 022

(cd "$folder" && sha256sum --check --quiet SHA256SUMS)
python3 -B scripts/dist/apt.py "$folder" "$fingerprint"
(cd "$folder" && sha256sum InRelease scorpiox-code-apt.asc >>SHA256SUMS)
# The installers contain the public key, and the name of the release.
public=$(sed -n "s/^public='\(.*\)'$/\1/p" "$folder/install.sh")
version=$(sed -n "s/^version='\(.*\)'$/\1/p" "$folder/install.sh")
[ -n "$public" ] || { echo "release: the packages were made without DIST_PUBLIC_KEY" >&2; exit 1; }
scripts/dist/sign.sh "$keys/minisign.key" "$folder" "scorpiox-code $version" "$public"
