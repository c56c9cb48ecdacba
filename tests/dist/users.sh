#!/usr/bin/env bash
# users.sh FOLDER: runs users.py on this system, whatever its name for Python.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$(command -v python3 || command -v python)
exec "$python" -B tests/dist/users.py "$1" target/package-tools
