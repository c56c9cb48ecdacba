#!/usr/bin/env bash
# Prints the folder of a test suite that is not part of this repository: scripts/suite.sh NAME
set -euo pipefail

if [ -z "${SCORPIOX_DATA:-}" ]; then
    echo "SCORPIOX_DATA is not set: it names the folder of test suites; CONTRIBUTING.md says what belongs there" >&2
    exit 1
fi
folder=$(realpath -m "$SCORPIOX_DATA/$1")
if [ ! -d "$folder" ]; then
    echo "$folder is missing: SCORPIOX_DATA names the folder of test suites; CONTRIBUTING.md says what belongs there" >&2
    exit 1
fi
echo "$folder"
