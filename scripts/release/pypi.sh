#!/usr/bin/env bash
# pypi.sh FOLDER: publishes the wheels of FOLDER as the workflow that PyPI trusts.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$1
python3 -m venv target/release-tools
target/release-tools/bin/pip install --quiet --disable-pip-version-check "$(grep '^uv==' tests/dist/requirements.txt)"
target/release-tools/bin/uv publish --trusted-publishing always "$folder"/*.whl
