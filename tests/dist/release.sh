#!/usr/bin/env bash
# release.sh FOLDER: tests the scripts of the release workflow with the packages in FOLDER: npm and PyPI publish to a
# registry on this machine; gh, skopeo and rustup are stand-ins that record how they were called.
set -euo pipefail
folder=$(realpath "$1")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
serving=''
end() {
    [ -z "$serving" ] || kill "$serving" 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT
# shellcheck source=tests/dist/checks.sh
. tests/dist/checks.sh

# refuses TEXT COMMAND…: asserts that COMMAND fails, and says TEXT.
refuses() {
    local text=$1
    shift
    ! "$@" 2>&1 | tee "$work/refusal" || return 1
    grep -qF -- "$text" "$work/refusal"
}
# stand_in NAME SCRIPT: puts a program into $work/bin.
stand_in() {
    mkdir -p "$work/bin"
    printf '#!/usr/bin/env bash\n%s\n' "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}
version=$(sed -n "s/^version='\(.*\)'$/\1/p" "$folder/install.sh")

check "a tag of another version is refused" refuses "the tag is v9.9.9, and the version $version" \
    env TAG=v9.9.9 scripts/release/check-tag.sh
mkdir -p "$work/tagged/scripts/release"
cp scripts/release/check-tag.sh "$work/tagged/scripts/release/"
cp Cargo.toml "$work/tagged/"
printf '## %s — unreleased\n' "$version" >"$work/tagged/CHANGELOG.md"
check "a version without a date is refused" refuses "give it its date" \
    env TAG="v$version" "$work/tagged/scripts/release/check-tag.sh"
printf '## %s — 2026-12-24\n' "$version" >"$work/tagged/CHANGELOG.md"
check "the tag of a released version is taken" env TAG="v$version" "$work/tagged/scripts/release/check-tag.sh"

cp -r "$folder" "$work/again"
check "signing without a key is refused" refuses "MINISIGN_KEY is empty" scripts/release/sign.sh "$work/again"
check "signing with a placeholder for a contact is refused" refuses "no real contact" \
    env MINISIGN_KEY=x APT_KEY=x scripts/release/sign.sh "$work/again"
printf x >>"$work/again/install.sh"
tests/dist/trial-keys.sh "$work/keys"
check "changed packages are not signed" refuses "install.sh: FAILED" env DIST_TRIAL=yes \
    MINISIGN_KEY="$(<"$work/keys/minisign.key")" APT_KEY="$(<"$work/keys/apt.key")" scripts/release/sign.sh "$work/again"

mkdir "$work/registry"
coproc REGISTRY { exec python3 -B tests/dist/registry.py "$work/registry"; }
serving=$REGISTRY_PID
read -r -t 30 address <&"${REGISTRY[0]}"
printf '//%s/:_authToken=token\n' "${address#http://}" >"$work/npmrc"
to_npm=(env NPM_CONFIG_USERCONFIG="$work/npmrc" NPM_CONFIG_CACHE="$work/npm" npm_config_registry="$address" NPM_ARGUMENTS=
    scripts/release/npm.sh "$folder")
check "npm publishes the packages" "${to_npm[@]}"
# shellcheck disable=SC2016 # expanded by the inner shell
check "those of systems come first" bash -c '[ "$(tail -n 1 "$1")" = scorpiox-code ] && [ "$(wc -l <"$1")" -ge 2 ]' _ "$work/registry/published"
cp "$work/registry/published" "$work/before"
check "published versions are left out" "${to_npm[@]}"
check "and nothing is published twice" cmp "$work/before" "$work/registry/published"
: >"$work/registry/published"
check "uv publishes the wheels" env UV_CACHE_DIR="$work/uv" PYPI_ARGUMENTS="--publish-url $address/upload/ --token token" \
    scripts/release/pypi.sh "$folder"
check "each of them" diff <(sort "$work/registry/published") <(cd "$folder" && printf '%s\n' *.whl | sort)

# shellcheck disable=SC2016 # expanded by the stand-in
stand_in gh 'printf "%s\n" "$*" >>"$CALLS"; [ "$2" != view ]'
check "the release is made" env PATH="$work/bin:$PATH" CALLS="$work/gh" TAG="v$version" scripts/release/github.sh "$folder"
# shellcheck disable=SC2016 # expanded by the inner shell
check "as a draft, which is then published" bash -c '
    grep -q "^release create v.* --verify-tag --draft " "$1" && grep -q "^release upload v.* --clobber .*SHA256SUMS.minisig" "$1" &&
    [ "$(tail -n 1 "$1")" = "release edit $2 --draft=false" ]' \
    _ "$work/gh" "v$version"

# shellcheck disable=SC2016 # expanded by the stand-in
stand_in skopeo 'printf "%s\n" "$*" >"$CALLS"
while [ $# -gt 0 ]; do
    case $1 in --authfile) cat "$2" >"$CALLS.auth" ;; --digestfile) printf sha256:abc >"$2" ;; esac
    shift
done'
check "the image is pushed" env PATH="$work/bin:$PATH" CALLS="$work/skopeo" REGISTRY=registry.example REPOSITORY=Some/Name \
    REGISTRY_USER=me REGISTRY_TOKEN=secret TAG="v$version" GITHUB_OUTPUT="$work/outputs" scripts/release/image.sh "$work/image.tar"
# shellcheck disable=SC2016 # expanded by the inner shell
check "with its version, and the token in a file alone" bash -c '
    grep -q "oci-archive:.* docker://registry.example/some/name:$2$" "$1" && ! grep -q secret "$1" &&
        [ "$(python3 -c "import base64, json, sys; print(base64.b64decode(json.load(open(sys.argv[1]))[\"auths\"][\"registry.example\"][\"auth\"]).decode())" "$1.auth")" = me:secret ]' \
    _ "$work/skopeo" "$version"
check "the digest is an output" diff "$work/outputs" <(printf 'name=registry.example/some/name\ndigest=sha256:abc\n')

# shellcheck disable=SC2016 # expanded by the stand-in
stand_in rustup 'printf "%s\n" "$*" >>"$CALLS"'
stand_in rustc 'echo "rustc 1.10.0 (old)"'
check "an old Rust is replaced" env PATH="$work/bin:$PATH" CALLS="$work/rustup" scripts/ci/rust.sh
needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
check "by the oldest supported version" grep -q "^toolchain install $needed " "$work/rustup"
stand_in rustc 'echo "rustc 9.0.0 (new)"'
check "a newer Rust is kept" env PATH="$work/bin:$PATH" CALLS="$work/rustup-new" scripts/ci/rust.sh
check "and rustup is not asked" test ! -e "$work/rustup-new"
printf '%d checks\n' "$checks"
