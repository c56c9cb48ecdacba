#!/usr/bin/env bash
# pypi.sh FOLDER: publishes the wheels of FOLDER as the workflow that PyPI trusts. PYPI_ARGUMENTS are other arguments of
# `uv publish`.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$1
python3 -m venv target/release-tools
target/release-tools/bin/pip install --quiet --disable-pip-version-check "$(grep '^uv==' tests/dist/requirements.txt)"
read -r -a arguments <<<"${PYPI_ARGUMENTS---trusted-publishing always}"
target/release-tools/bin/uv publish "${arguments[@]}" "$folder"/*.whl
