#!/usr/bin/env bash
# github.sh FOLDER: creates the release of the tag TAG with the files of FOLDER. It is a draft until all are uploaded.
set -euo pipefail
folder=$1
gh release create "${TAG:?}" --verify-tag --draft --title "$TAG" --notes "See CHANGELOG.md." "$folder"/*
gh release edit "$TAG" --draft=false
