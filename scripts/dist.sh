#!/usr/bin/env bash
# dist.sh FOLDER GUEST…: builds the program for each system of DIST_TARGETS, and packs it into target/dist.
set -euo pipefail
targets=${DIST_TARGETS:-$(python3 -B scripts/dist/systems.py)}

# Signed packages are for others, who need a real address to report to.
if [ -n "${DIST_KEY:-}${DIST_PUBLIC_KEY:-}" ] && grep -q '@example\.com' SECURITY.md; then
    printf 'dist: SECURITY.md has no real contact; replace its address at example.com before you sign packages\n' >&2
    exit 1
fi

scripts/need.sh rpmbuild rpm
[ -z "${DIST_KEY:-}" ] || scripts/need.sh minisign minisign
for target in $targets; do
    printf 'dist: building for %s\n' "$target" >&2
    scripts/build-for.sh "$target" "$@"
done
# A program that is linked with a newer C library would not start on an older system.
for target in $targets; do
    case $target in
        *-linux-gnu) scripts/dist/oldest.sh "target/$target/release/scorpiox-code" 2.28 ;;
    esac
done
# shellcheck disable=SC2086 # a list
python3 -B scripts/dist/pack.py target/dist $targets
