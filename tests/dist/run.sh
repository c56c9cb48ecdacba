#!/usr/bin/env bash
# Tests the output of `make dist` from a user's point of view: installs each package for this system, and
# checks that the program in it answers a handshake and runs a command. Packages for Windows are tested under
# Wine, if they exist. Missing packages for this system are an error.
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
# shellcheck source=tests/dist/checks.sh
. tests/dist/checks.sh
is_gone() { [ ! -e "$1" ]; }

check "the sums are those of the files" bash -c 'cd "$1" && sha256sum --check SHA256SUMS' _ "$dist"
scripts/need.sh minisign minisign
public=${DIST_PUBLIC_KEY:-$work/key.pub} signed=$dist
if [ ! -e "$dist/SHA256SUMS.minisig" ]; then
    # Signs with a temporary key, outside of the packages.
    minisign -G -W -p "$public" -s "$work/key" >/dev/null
    signed=$work/signed
    mkdir "$signed"
    cp "$dist/SHA256SUMS" "$signed"
    scripts/dist/sign.sh "$work/key" "$signed" test
fi
check "the sums can be signed, and are" minisign -V -p "$public" -m "$signed/SHA256SUMS"

mkdir "$work/archive"
tar -xzf "$(one "$dist/scorpiox-code-*-$name.tar.gz")" -C "$work/archive"
program=$(one "$work/archive/*/scorpiox-code")
check "the archive's program answers" answers dist-42 "$program"
check "it tests itself" env HOME="$work/home" SCORPIOX_HOME="$work/home/.scorpiox" "$program" self-test
if [ "$(id -u)" = 0 ]; then
    # A system with an old GNU C library, 2.31: its loader, its libraries, its bash.
    scripts/need.sh debootstrap debootstrap
    old=$PWD/target/debian-11
    [ -e "$old/usr/bin/bash" ] || debootstrap --variant=minbase bullseye "$old" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
    cp "$program" "$old/usr/local/bin/scorpiox-code"
    # shellcheck disable=SC2016 # expanded by the inner shell
    in_old='mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mkdir -p "$0$HOME" && cd / && exec chroot "$0" "$@"'
    check "it answers on Debian 11, and commands run" \
        answers dist-42 unshare --mount bash -c "$in_old" "$old" scorpiox-code
fi
folder=$(dirname "$program")
# shellcheck disable=SC2016 # expanded by the inner shell
check "bash completes a command" bash --norc -c '
    . "$1"
    function=$(complete -p scorpiox-code | sed "s/.*-F \([^ ]*\).*/\1/")
    COMP_WORDS=(scorpiox-code pol) COMP_CWORD=1
    "$function" scorpiox-code pol scorpiox-code
    [ "${COMPREPLY[*]}" = policy ]' _ "$folder/completions/scorpiox-code.bash"
scripts/need.sh man man-db
# shellcheck disable=SC2016 # expanded by the inner shell
check "the manual's pages have no faults" bash -c '
    for page in "$1"/*.1; do
        man --warnings -l "$page" >"$2" 2>"$3" && grep -q NAME "$2" && [ ! -s "$3" ] || { cat "$3"; exit 1; }
    done' _ "$folder/man" "$work/page" "$work/warnings"

scripts/need.sh dpkg-deb dpkg
package=$(one "$dist/scorpiox-code_*_$debian.deb")
check "the package for Debian is one" dpkg-deb --info "$package"
dpkg-deb --extract "$package" "$work/deb"
check "its program answers" answers dist-42 "$work/deb/usr/bin/scorpiox-code"
if [ "$(id -u)" = 0 ]; then
    # Installs into a separate root: nothing on this machine changes.
    mkdir -p "$work/root/var/lib/dpkg"/{info,updates}
    : >"$work/root/var/lib/dpkg/status"
    dpkg=(dpkg "--root=$work/root" --force-depends --force-not-root --force-script-chrootless)
    check "dpkg installs it" "${dpkg[@]}" --install "$package"
    check "what dpkg installed answers" answers dist-42 "$work/root/usr/bin/scorpiox-code"
    check "dpkg removes it" "${dpkg[@]}" --purge scorpiox-code
    check "and nothing of it stays" is_gone "$work/root/usr/bin/scorpiox-code"
fi

scripts/need.sh rpm rpm
scripts/need.sh cpio cpio
package=$(one "$dist/scorpiox-code-*.$(uname -m).rpm")
check "the sums in the package for Fedora are right" rpm -K --nosignature "$package"
mkdir "$work/rpm"
(cd "$work/rpm" && rpm2cpio "$package" | cpio -idm --quiet)
check "the program of the package for Fedora answers" answers dist-42 "$work/rpm/usr/bin/scorpiox-code"

# Official validators of the consumers, at pinned versions.
bundle=$(one "$dist/scorpiox-code-*-$name.mcpb")
npm install --silent --no-audit --no-fund --prefix "$work/npm" @anthropic-ai/mcpb@2.1.2 >/dev/null
mcpb=$work/npm/node_modules/.bin/mcpb
check "the bundle can be unpacked" "$mcpb" unpack "$bundle" "$work/mcpb"
check "the bundle's manifest is valid" "$mcpb" validate "$work/mcpb/manifest.json"
started=$(python3 - "$work/mcpb" "$work/project" <<'PYTHON'
import json, sys
folder, workspace = sys.argv[1:]
config = json.load(open(f"{folder}/manifest.json"))["server"]["mcp_config"]
words = [config["command"], *config["args"]]
print("\n".join(word.replace("${__dirname}", folder).replace("${user_config.workspace}", workspace) for word in words))
PYTHON
)
mapfile -t words <<<"$started"
check "the bundle's program answers, as its manifest starts it" answers dist-42 "${words[@]}"
# shellcheck disable=SC2016 # passed literally, like by a client
check "and with a field that nobody filled in" answers dist-42 "${words[0]}" --workspace '${user_config.workspace}'

# Claude Code itself, from the tests of agents.
agents=tests/clients/agents/node_modules/@anthropic-ai
claude=$PWD/$(compgen -G "$agents/claude-code-$name/claude") || {
    version=$(sed -n 's/.*"@anthropic-ai\/claude-code": "\(.*\)".*/\1/p' tests/clients/agents/package.json)
    npm install --silent --no-audit --no-fund --prefix "$work/npm" "@anthropic-ai/claude-code-$name@$version" >/dev/null
    claude=$work/npm/node_modules/@anthropic-ai/claude-code-$name/claude
}
mkdir "$work/claude" "$work/claude-home"
tar -xzf "$(one "$dist/scorpiox-code-*-$name-claude-code.tar.gz")" -C "$work/claude"
market=$(dirname "$(one "$work/claude/*/plugin")")
in_claude() { (cd "$work/project" && HOME=$work/claude-home timeout 120 "$claude" "$@"); }
is_connected() { in_claude mcp list | tee "$work/list" && grep -q "scorpiox.*Connected" "$work/list"; }
check "Claude Code takes the marketplace" in_claude plugin validate --strict "$market"
check "its plugin directory takes the plugin" in_claude plugin validate --profile directory "$market/plugin"
check "Claude Code adds the marketplace" in_claude plugin marketplace add "$market"
check "Claude Code installs the plugin" in_claude plugin install scorpiox-code@scorpiox
check "Claude Code connects to its program" is_connected

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check 'cyclonedx-python-lib[json-validation]==11.5.0'
check "the lists of crates are CycloneDX 1.6" "$work/venv/bin/python" -c '
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
for path in sys.argv[1:]:
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(path).read())
    if wrong:
        sys.exit(f"{path}: {wrong}")' "$dist"/*.cdx.json
check "server.json names the bundles with their sums" python3 -c '
import hashlib, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
server = json.loads((folder / "server.json").read_text())
assert len(server["description"]) <= 100 and server["packages"], server
for package in server["packages"]:
    file = folder / package["identifier"].rsplit("/", 1)[1]
    assert "mcp" in package["identifier"]
    assert package["fileSha256"] == hashlib.sha256(file.read_bytes()).hexdigest(), file' "$dist"

if compgen -G "$dist/scorpiox-code-*-windows-x64.zip" >/dev/null; then
    # shellcheck source=tests/windows/wine.sh
    . tests/windows/wine.sh
    python3 -m zipfile -e "$(one "$dist/scorpiox-code-*-windows-x64.zip")" "$work/windows"
    check "the archive for Windows answers" answers allow_unsandboxed "$wine" "$work/windows/scorpiox-code.exe"
    check "the bundle for Windows can be unpacked" "$mcpb" unpack "$(one "$dist/scorpiox-code-*-windows-x64.mcpb")" "$work/mcpb-windows"
    check "its manifest is valid" "$mcpb" validate "$work/mcpb-windows/manifest.json"
    check "its program answers" answers allow_unsandboxed "$wine" "$work/mcpb-windows/server/scorpiox-code.exe"
fi

printf '%d checks\n' "$checks"
