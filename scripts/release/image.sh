#!/usr/bin/env bash
# image.sh ARCHIVE: pushes the image to REGISTRY/REPOSITORY with the version of TAG, as REGISTRY_USER with
# REGISTRY_TOKEN. Writes its name and digest as outputs of the step.
set -euo pipefail
cd "$(dirname "$0")/../.."
archive=$1
scripts/need.sh skopeo skopeo
name=$(tr '[:upper:]' '[:lower:]' <<<"${REGISTRY:?}/${REPOSITORY:?}")
auth=$(mktemp)
trap 'rm -f "$auth"' EXIT
printf '{"auths":{"%s":{"auth":"%s"}}}' "$REGISTRY" "$(printf '%s:%s' "${REGISTRY_USER:?}" "${REGISTRY_TOKEN:?}" | base64 -w0)" >"$auth"
skopeo copy --preserve-digests --authfile "$auth" --digestfile target/image-digest "oci-archive:$archive" "docker://$name:${TAG#v}"
printf 'name=%s\ndigest=%s\n' "$name" "$(cat target/image-digest)" >>"${GITHUB_OUTPUT:-/dev/stdout}"
