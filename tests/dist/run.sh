#!/usr/bin/env bash
# What `make dist` made, as those who get it see it: each package for this system is installed as a user would, and the
# program in it answers a handshake. What is not there was not made; that nothing of this system was made is an error.
set -euo pipefail
cd "$(dirname "$0")/../.."

dist=$PWD/target/dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $(uname -m) in
    x86_64) name=linux-x64 debian=amd64 ;;
    aarch64) name=linux-arm64 debian=arm64 ;;
    *) echo "there are no packages for $(uname -m)" >&2; exit 1 ;;
esac
checks=0
good() { checks=$((checks + 1)); printf 'ok    %s\n' "$1"; }
one() {
    local found
    found=$(compgen -G "$1") || { echo "there is no $1; run \`make dist\`" >&2; exit 1; }
    [ "$(wc -l <<<"$found")" = 1 ] || { echo "there are several: $found" >&2; exit 1; }
    printf '%s\n' "$found"
}

# A handshake, a list and a call, in a home of its own: answers PROGRAM ARGUMENT…
answers() {
    mkdir -p "$work/home" "$work/project"
    local said
    said=$(cd "$work/project" && printf '%s\n' \
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"dist","version":"1"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"Bash","arguments":{"command":"echo dist-$((40+2))"}}}' |
        HOME=$work/home SCORPIOX_HOME=$work/home/.scorpiox timeout 60 "$@")
    grep -q '"serverInfo":{"name":"scorpiox-code"' <<<"$said" && grep -q 'dist-42' <<<"$said" || {
        printf 'no handshake, or no command: %s\n' "$said" >&2
        exit 1
    }
}

(cd "$dist" && sha256sum --quiet --check SHA256SUMS) && good "the sums are those of the files"
if [ -e "$dist/SHA256SUMS.minisig" ]; then
    minisign -V -q -p "${DIST_PUBLIC_KEY:?names the public key}" -m "$dist/SHA256SUMS" && good "the sums are signed"
fi

mkdir "$work/archive"
tar -xzf "$(one "$dist/scorpiox-code-*-$name.tar.gz")" -C "$work/archive"
program=$(one "$work/archive/*/scorpiox-code")
answers "$program" && good "the archive's program answers"
folder=$(dirname "$program")
bash -n "$folder/completions/scorpiox-code.bash"
# shellcheck disable=SC2016 # for the shell that is started
bash --norc -c '. "$1"; COMP_WORDS=(scorpiox-code pol); COMP_CWORD=1; _scorpiox-code scorpiox-code pol scorpiox-code; [ "${COMPREPLY[*]}" = policy ]' \
    _ "$folder/completions/scorpiox-code.bash" && good "bash completes a command"
if command -v man >/dev/null; then
    man --warnings -l "$folder/man/scorpiox-code.1" >"$work/page" 2>"$work/warnings"
    grep -q "serves the Model Context Protocol" "$work/page" && [ ! -s "$work/warnings" ] && good "the manual's page is one"
fi

scripts/need.sh dpkg-deb dpkg
package=$(one "$dist/scorpiox-code_*_$debian.deb")
dpkg-deb --info "$package" >/dev/null
dpkg-deb --extract "$package" "$work/deb"
answers "$work/deb/usr/bin/scorpiox-code" && good "the program of the package for Debian answers"
if [ "$(id -u)" = 0 ]; then
    # Beside what is installed: nothing of this machine changes.
    mkdir -p "$work/root/var/lib/dpkg"/{info,updates}
    : >"$work/root/var/lib/dpkg/status"
    dpkg --root="$work/root" --force-depends --force-not-root --force-script-chrootless --install "$package" >/dev/null 2>"$work/dpkg" || {
        cat "$work/dpkg" >&2
        exit 1
    }
    answers "$work/root/usr/bin/scorpiox-code" && good "dpkg installs it"
    dpkg --root="$work/root" --force-script-chrootless --purge scorpiox-code >/dev/null 2>"$work/dpkg"
    [ ! -e "$work/root/usr/bin/scorpiox-code" ] && good "dpkg removes it"
fi

scripts/need.sh rpm rpm
scripts/need.sh cpio cpio
package=$(one "$dist/scorpiox-code-*.$(uname -m).rpm")
rpm -K --nosignature "$package" >/dev/null && good "the sums in the package for Fedora are right"
mkdir "$work/rpm"
(cd "$work/rpm" && rpm2cpio "$package" | cpio -idm --quiet)
answers "$work/rpm/usr/bin/scorpiox-code" && good "the program of the package for Fedora answers"

# The validators of those who read them, at these versions.
node=tests/clients/node/node_modules/.bin
bundle=$(one "$dist/scorpiox-code-*-$name.mcpb")
mkdir "$work/npm"
npm install --silent --no-audit --no-fund --prefix "$work/npm" @anthropic-ai/mcpb@2.1.2 >/dev/null
"$work/npm/node_modules/.bin/mcpb" unpack "$bundle" "$work/mcpb" >/dev/null
"$work/npm/node_modules/.bin/mcpb" validate "$work/mcpb/manifest.json" >/dev/null && good "the bundle's manifest is valid"
started=$(python3 - "$work/mcpb" "$work/project" <<'PYTHON'
import json, sys
folder, workspace = sys.argv[1:]
config = json.load(open(f"{folder}/manifest.json"))["server"]["mcp_config"]
words = [config["command"], *config["args"]]
print("\n".join(word.replace("${__dirname}", folder).replace("${user_config.workspace}", workspace) for word in words))
PYTHON
)
mapfile -t words <<<"$started"
answers "${words[@]}" && good "the bundle's program answers, as its manifest starts it"
answers "${words[0]}" --workspace '${user_config.workspace}' && good "and with a field that nobody filled in"

mkdir "$work/claude"
tar -xzf "$(one "$dist/scorpiox-code-*-$name-claude-code.tar.gz")" -C "$work/claude"
plugin=$(one "$work/claude/*/plugin")
answers "$plugin/bin/scorpiox-code" && good "the program of the plugin for Claude Code answers"
claude=tests/clients/agents/node_modules/.bin/claude
if [ -x "$claude" ]; then
    "$claude" plugin validate "$(dirname "$plugin")" >/dev/null && "$claude" plugin validate "$plugin" >/dev/null && good "Claude Code takes it"
fi

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check 'cyclonedx-python-lib[json-validation]==11.5.0'
"$work/venv/bin/python" - "$dist"/*.cdx.json <<'PYTHON'
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
for path in sys.argv[1:]:
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(path).read())
    if wrong:
        sys.exit(f"{path}: {wrong}")
PYTHON
good "the lists of crates are CycloneDX 1.6"

python3 - "$dist" <<'PYTHON'
import hashlib, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
server = json.loads((folder / "server.json").read_text())
assert len(server["description"]) <= 100 and server["packages"], server
for package in server["packages"]:
    file = folder / package["identifier"].rsplit("/", 1)[1]
    assert "mcp" in package["identifier"]
    assert package["fileSha256"] == hashlib.sha256(file.read_bytes()).hexdigest(), file
PYTHON
good "server.json names the bundles with their sums"

printf '%d checks\n' "$checks"
