#!/usr/bin/env bash
# npm.sh FOLDER: publishes the packages for npm: those of the systems first, because the start script depends on them.
# Leaves out versions that are published, so that it can run again. NPM_ARGUMENTS are more arguments of `npm publish`.
set -euo pipefail
folder=$1
mapfile -t packages < <(compgen -G "$folder/scorpiox-code-[a-z]*.tgz"; compgen -G "$folder/scorpiox-code-[0-9]*.tgz")
[ "${#packages[@]}" -gt 1 ] || { echo "release: $folder has no packages for npm" >&2; exit 1; }
# Older versions cannot publish as a workflow that npm trusts.
npm=(npm)
[ "$(printf '%s\n' 11.5.1 "$(npm --version)" | sort -V | head -n 1)" = 11.5.1 ] || npm=(npx -y npm@11.19.1)
for package in "${packages[@]}"; do
    name=$(tar -xzOf "$package" package/package.json | python3 -c 'import json, sys; about = json.load(sys.stdin); print(about["name"] + "@" + about["version"])')
    if [ -n "$(npm view "$name" version 2>/dev/null)" ]; then
        printf '%s is published\n' "$name"
    else
        read -r -a more <<<"${NPM_ARGUMENTS---provenance}"
        "${npm[@]}" publish --access public "${more[@]}" "$(realpath "$package")"
    fi
done
