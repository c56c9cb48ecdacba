#!/usr/bin/env bash
# github.sh FOLDER: creates the release of the tag TAG with the files of FOLDER. It is a draft until all are uploaded.
set -euo pipefail
folder=$1
# An earlier run may have broken off.
gh release view "${TAG:?}" >/dev/null 2>&1 || gh release create "$TAG" --verify-tag --draft --title "$TAG" --notes "See CHANGELOG.md."
gh release upload "$TAG" --clobber "$folder"/*
gh release edit "$TAG" --draft=false
