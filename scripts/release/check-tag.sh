#!/usr/bin/env bash
# check-tag.sh: fails unless TAG names the version of the workspace, and the changelog has it as released.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
[ "${TAG:?}" = "v$version" ] || { echo "release: the tag is $TAG, and the version $version" >&2; exit 1; }
heading=$(grep -E -m 1 "^## ${version//./\\.}( |\$)" CHANGELOG.md) || { echo "release: CHANGELOG.md has no $version" >&2; exit 1; }
[[ $heading != *unreleased* ]] || { echo "release: CHANGELOG.md says \"$heading\"; give it its date" >&2; exit 1; }
