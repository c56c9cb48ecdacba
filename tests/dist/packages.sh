#!/usr/bin/env bash
# Packs the program of `make build` for this system, and installs each package from the file as users do, into an
# empty folder or an empty Debian. Each has to answer a tool call within a minute. `make test-dist` tests the output
# of `make dist`. PACKAGES is a folder of packages that tests/dist/trial.sh signed, to test instead.
set -euo pipefail
cd "$(dirname "$0")/../.."

case $(uname -m) in
    x86_64) name=linux-x64 target=x86_64-unknown-linux-gnu debian=amd64 ;;
    aarch64) name=linux-arm64 target=aarch64-unknown-linux-gnu debian=arm64 ;;
    *) echo "there are no packages for $(uname -m)" >&2; exit 1 ;;
esac
work=$(mktemp -d)
serving=''
end() {
    [ -z "$serving" ] || kill "$serving" 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT
# shellcheck source=tests/dist/checks.sh
. tests/dist/checks.sh
for needed in rpmbuild:rpm gpg:gnupg minisign:minisign ruby:ruby; do
    scripts/need.sh "${needed%:*}" "${needed#*:}"
done
[ -x target/release/scorpiox-code ] || { echo "there is no program; run \`make build\`" >&2; exit 1; }


dist=${PACKAGES:-}
if [ -z "$dist" ]; then
    echo "== packing the program for this system"
    dist=$work/dist
    mkdir -p "$work/built/$target/release"
    ln "target/release/scorpiox-code" "$work/built/$target/release/" 2>/dev/null ||
        cp target/release/scorpiox-code "$work/built/$target/release/"
    tests/dist/trial-keys.sh "$work/keys"
    DIST_BUILT=$work/built DIST_PUBLIC_KEY=$work/keys/minisign.pub \
        python3 -B scripts/dist/pack.py "$dist" "$target" | sed 's/^/      /'
    DIST_TRIAL=yes MINISIGN_KEY=$(<"$work/keys/minisign.key") APT_KEY=$(<"$work/keys/apt.key") scripts/release/sign.sh "$dist"
fi

echo "== packages of small programs, for all systems"
python3 -B tests/dist/made.py

echo "== the packages' forms"
tools=$PWD/target/package-tools
cmp -s tests/dist/requirements.txt "$tools/made-of" || {
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check -r tests/dist/requirements.txt
    cp tests/dist/requirements.txt "$tools/made-of"
}
check "the installer for PowerShell parses" "$tools/bin/python" tests/dist/powershell.py "$dist/install.ps1"
wheel=$(one "$dist/*manylinux*_$(uname -m).whl")
check "twine accepts the wheel" "$tools/bin/twine" check --strict "$wheel"
# A wheel with a program alone has no library.
check "the wheel's contents are as they should be" "$tools/bin/check-wheel-contents" --ignore W007 "$wheel"
archive=$(one "$dist/scorpiox-code-*-$name.tar.gz")
check "the release's scripts publish them" tests/dist/release.sh "$dist"
check "the formula installs the archive" ruby tests/dist/formula.rb "$dist/scorpiox-code.rb" "$archive" "$work/brewed"

echo "== from the packages to an answered call"
mkdir "$work/users"
USERS_FOLDER=$work/users python3 -B tests/dist/users.py "$dist" "$tools"

if [ "$(id -u)" = 0 ]; then
    echo "== from the packages to an answered call, in an empty Debian"
    scripts/need.sh debootstrap debootstrap
    # shellcheck source=/dev/null
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    root=$PWD/target/debian-$suite
    [ -e "$root/usr/bin/python3" ] || {
        rm -rf "$root.new"
        debootstrap --variant=minbase --include=python3-venv "$suite" "$root.new" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
        mv "$root.new" "$root"
    }
    in_root=("$PWD/tests/dist/in-root.sh" "$root" "$dist")
    # shellcheck disable=SC2016 # expanded by the inner shell
    use_apt='
        mkdir -p /etc/apt/keyrings && cp /packages/scorpiox-code-apt.asc /etc/apt/keyrings/
        echo "deb [signed-by=/etc/apt/keyrings/scorpiox-code-apt.asc] file:/packages ./" >/etc/apt/sources.list
        apt-get -qq -o Acquire::Retries=0 update </dev/null >&2
        apt-get -qq -y --no-install-recommends install scorpiox-code </dev/null >&2'
    timed() {
        local before=$SECONDS
        check "$@"
        printf '      %d s\n' "$((SECONDS - before))"
    }
    timed "the archive" answers dist-42 "${in_root[@]}" "tar -xzf /packages/${archive##*/} && exec */scorpiox-code"
    timed "the package for Debian" answers dist-42 "${in_root[@]}" "dpkg -i /packages/*_$debian.deb </dev/null >&2; exec scorpiox-code"
    timed "the repository for apt" answers dist-42 "${in_root[@]}" "$use_apt; exec scorpiox-code"
    timed "the wheel" answers dist-42 "${in_root[@]}" "
        python3 -m venv venv && venv/bin/pip install --quiet --no-index /packages/${wheel##*/} </dev/null >&2
        exec venv/bin/scorpiox-code"
    coproc REGISTRY { exec python3 -B tests/dist/registry.py "$dist"; }
    serving=$REGISTRY_PID
    read -r -t 30 address <&"${REGISTRY[0]}"
    timed "npx" answers dist-42 "${in_root[@]}" "
        export npm_config_registry=$address npm_config_update_notifier=false
        exec node /opt/node/lib/node_modules/npm/bin/npx-cli.js -y scorpiox-code"
    refused() {
        ! "${in_root[@]}" "$1; $use_apt" || return 1
        grep -q "$2" "$work/said"
    }
    copied='cp -r /packages /changed && umount /packages && mv /changed/* /packages/'
    check "apt refuses an index that was changed" refused "$copied; sed -i 's/^Date: ./Date: X/' /packages/InRelease" "is not signed"
    check "apt refuses a package that was changed" refused "$copied; printf x >>/packages/scorpiox-code_*_$debian.deb" "size mismatch\|Hash Sum mismatch\|unexpected size"
    timed "the installer, with openssl" answers dist-42 "${in_root[@]}" '
        rm -f /usr/bin/minisign && sh /packages/install.sh --from /packages >&2 && exec .local/bin/scorpiox-code'
    check "without minisign and openssl the installer refuses" "${in_root[@]}" '
        rm -f /usr/bin/minisign /usr/bin/openssl
        ! sh /packages/install.sh --from /packages 2>said && grep -q "it needs minisign, or openssl" said && [ ! -e .local ]'
else
    echo "== an empty Debian needs root; these tests were not made"
fi
printf '%d checks\n' "$checks"
