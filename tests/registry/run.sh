#!/usr/bin/env bash
# Tests plugins in third-party registries: tests/registry/run.sh BINARY
#
# Uses Debian's docker-registry, unpacked but not installed, on a local port, and oras for pushes by other
# tools.
set -euo pipefail
cd "$(dirname "$0")/../.."

program=$(realpath "$1") oras_version=0.2.43
tools=$PWD/target/registry component=$PWD/target/test-components/kinds.component.wasm
mkdir -p "$tools"
server=$tools/usr/bin/docker-registry
if [ ! -x "$server" ]; then
    (cd "$tools" && apt-get download docker-registry >/dev/null 2>&1) || {
        echo "docker-registry cannot be downloaded, which these tests need; they run on Debian and Ubuntu" >&2
        exit 1
    }
    dpkg-deb --extract "$tools"/docker-registry_*.deb "$tools"
fi
if [ "$(cat "$tools/oras.version" 2>/dev/null)" != "$oras_version" ]; then
    python3 -m venv "$tools/oras"
    "$tools/oras/bin/pip" install --quiet --disable-pip-version-check "oras==$oras_version"
    printf '%s\n' "$oras_version" > "$tools/oras.version"
fi
scripts/need.sh minisign minisign

work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
# serve NAME YAML: starts a registry, and sets `address` to its address.
serve() {
    local port
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    address=127.0.0.1:$port
    cat > "$work/$1.yml" <<YAML
version: 0.1
log: { level: error }
storage: { filesystem: { rootdirectory: $work/$1 } }
http: { addr: $address }
$2
YAML
    "$server" serve "$work/$1.yml" >"$work/$1.log" 2>&1 &
    pids+=($!)
    python3 - "$port" <<'PYTHON' || { cat "$work/$1.log" >&2; exit 1; }
import socket, sys, time
until = time.monotonic() + 30
while True:
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1).close()
        break
    except OSError:
        if time.monotonic() > until:
            sys.exit("the registry does not listen")
        time.sleep(0.05)
PYTHON
}
serve open ""
registry=$address
# `me` with the password `a-test-password`, in the output format of `htpasswd -B`.
printf '%s\n' 'me:$2b$05$tusgKfitZ7j7q5FQxTLOzOaNcXo.i22cI9cAw2cnd0H6huZ6TMsCu' > "$work/htpasswd"
serve private "auth: { htpasswd: { realm: test, path: $work/htpasswd } }"
private=$address

mkdir -p "$work/home/.scorpiox" "$work/project" "$work/kinds"
cd "$work/project"
minisign -G -W -p acme.pub -s acme.key >/dev/null
cat > "$work/home/.scorpiox/policy.toml" <<TOML
version = 1
[web]
allow_private = ["127.0.0.1/32"]
[plugins.signers.acme]
key = "$(tail -1 acme.pub)"
names = ["kinds"]
approve = "signed"
TOML
code() { HOME=$work/home SCORPIOX_HOME=$work/home/.scorpiox timeout 120 "$program" "$@"; }
checks=0
# check WHAT TEXT COMMAND…: asserts that COMMAND succeeds and prints TEXT; with ! before TEXT, that it fails
# and prints TEXT.
check() {
    local what=$1 text=$2 fails=0 status=0
    shift 2
    [ "${text:0:1}" != '!' ] || fails=1
    "$@" >"$work/said" 2>&1 || status=$?
    # Long rows are wrapped.
    tr -s '\n ' ' ' <"$work/said" >"$work/row"
    if [ $((status != 0)) = $fails ] &&
        grep -qF -- "${text#!}" "$work/row"; then
        checks=$((checks + 1))
        printf 'ok    %s\n' "$what"
    else
        printf 'wrong %s: exit code %s, and not %s\n' "$what" "$status" "$text" >&2
        cat "$work/said" >&2
        exit 1
    fi
}
pack() {
    printf 'name = "kinds"\nversion = "%s"\ndescription = "Kinds of things"\ncomponent = "component.wasm"\n' "$1" > "$work/kinds/plugin.toml"
    cp "$component" "$work/kinds/component.wasm"
    code plugin pack "$work/kinds" >/dev/null
    code plugin sign "kinds-$1.plugin" --key acme.key >/dev/null
}
at=oci://$registry/acme/kinds
add() { code plugin add "$1" "${@:2}" --yes "$(code plugin hash "$1" "${@:2}" 2>/dev/null)"; }

pack 1.0.0
pack 1.1.0
check "a pack is pushed with its signature" "with its signature" code plugin push kinds-1.0.0.plugin "$at:stable"
first=$(grep -o 'oci://[^ ]*@sha256:[0-9a-f]*' "$work/said")
check "it is added by its tag, and its signature counts" "Signed by acme" add "$at:stable"
check "its tool runs" 2 code call kinds.divide '{"a": 6, "b": 3}'
check "a newer one takes the tag" "with its signature" code plugin push kinds-1.1.0.plugin "$at:stable"
check "and is taken without a question, as it is signed" "1.0.0 before, 1.1.0 now" code plugin update kinds
check "the older one is there by its digest, and needs a person" "!kinds 1.0.0 is older than 1.1.0" code plugin add "$first"
check "the same push again is the same" "${first%@*}@sha256:" code plugin push kinds-1.1.0.plugin "$at:stable"
cp "$component" other.wasm
check "a component alone is pushed" "without a signature" code plugin push other.wasm "oci://$registry/other:1"
check "and is added, with the name that it has there" "other is approved" add "oci://$registry/other:1"
check "a tag that is not there is said" "!$registry" code plugin add "$at:none"
check "a name that is not there is said" "!$registry" code plugin add "oci://$registry/nobody:1"
check "a push needs a tag" "!a push needs a tag" code plugin push other.wasm "$first"
check "what is no plugin is not pushed" "!neither a pack nor a component" code plugin push acme.pub "$at:x"
cp "$component" foreign.wasm
check "oras pushes a component" "pushed" "$tools/oras/bin/python" -c '
import sys
from oras.client import OrasClient
OrasClient(hostname=sys.argv[1], insecure=True).push(
    target=f"{sys.argv[1]}/foreign/kinds:2", files=["foreign.wasm:application/wasm"])
print("pushed")' "$registry"
check "and it is added" "foreign is approved" add "oci://$registry/foreign/kinds:2" --name foreign
# credentials LINES: sets the policy for the registry that requires a password.
cp "$work/home/.scorpiox/policy.toml" "$work/policy.toml"
credentials() {
    { cat "$work/policy.toml"; printf '[plugins.registries."%s"]\n%s\n' "$private" "$1"; } > "$work/home/.scorpiox/policy.toml"
}
own=oci://$private/acme/kinds:stable
(umask 077; echo a-test-password > "$work/home/key"; echo another-password > "$work/home/wrong")
printf '#!/bin/sh\necho a-test-password\n' > "$work/home/print-key"
chmod 700 "$work/home/print-key"
check "a registry that asks for a password is told none unasked" "!there are no credentials for $private" code plugin push kinds-1.0.0.plugin "$own"
credentials 'user = "me"
password_file = "~/wrong"'
check "a wrong password is said, and is not shown" "!do not suffice for" code plugin push kinds-1.0.0.plugin "$own"
if grep -q another-password "$work/said"; then echo "the password is shown" >&2; exit 1; fi
credentials 'user = "me"
password_file = "~/key"'
check "with a file a pack is pushed" "with its signature" code plugin push kinds-1.0.0.plugin "$own"
code plugin remove kinds >/dev/null
check "and pulled" "Signed by acme" add "$own"
credentials 'user = "me"
command = ["~/print-key"]'
check "with a program a newer one is pushed" "with its signature" code plugin push kinds-1.1.0.plugin "$own"
check "and taken" "1.0.0 before, 1.1.0 now" code plugin update kinds
mkdir -p "$work/home/.docker"
(umask 077; printf '{"auths":{"%s":{"auth":"%s"}}}' "$private" "$(printf me:a-test-password | base64)" > "$work/home/.docker/config.json")
cp "$work/policy.toml" "$work/home/.scorpiox/policy.toml"
check "what docker has is not used unasked" "!there are no credentials for $private" code plugin test "$own"
credentials 'credentials = "docker"'
check "with what docker has it is looked at" "It can be added" code plugin test "$own"
chmod 604 "$work/home/.docker/config.json"
check "but not where others can read that" "!others may read it" code plugin test "$own"
cp "$work/policy.toml" "$work/home/.scorpiox/policy.toml"
sed -i 's/^\[web\]/[web]\ndeny = ["127.0.0.0\/8"]/' "$work/home/.scorpiox/policy.toml"
check "where the policy denies the host nothing is asked" "!policy.toml line" code plugin add "$at:stable"
check "and nothing pushed" "!policy.toml line" code plugin push other.wasm "oci://$registry/other:2"
printf '%d checks\n' "$checks"
