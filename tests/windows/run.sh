#!/usr/bin/env bash
# Runs the tests as Windows programs under Wine: tests/windows/run.sh FILTER…
#
# Runs the unit tests of the host's crates, and then the end-to-end tests over pipes. Skipped end-to-end tests
# are marked in tests/e2e with the reason. With FILTER, only the matching end-to-end tests run.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=tests/windows/wine.sh
. tests/windows/wine.sh
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine
target=x86_64-pc-windows-gnu

# On Windows, commands run in Git's bash, which does not work under Wine. Another shell for the same language,
# and the programs that tests call, replace it.
git=$WINEPREFIX/drive_c/Program\ Files/Git shells=$PWD/target/windows-shell
if [ ! -e "$git/bin/bash.exe" ]; then
    cargo install --quiet --locked --target $target --root "$shells" --no-default-features --features minimal brush-shell@0.4.0
    cargo install --quiet --locked --target $target --root "$shells" --no-default-features \
        --features cat,echo,head,seq,sleep,touch,tr,true coreutils@0.12.0
    mkdir -p "$git/bin" "$git/usr/bin"
    for name in cat echo head seq sleep touch tr true; do
        cp "$shells/bin/coreutils.exe" "$git/usr/bin/$name.exe"
    done
    cp "$shells/bin/brush.exe" "$git/bin/bash.exe"
fi
# Omits crates that are empty on Windows, and crates whose tests create links or inspect a command sandbox.
crates=(audit client-config command-output component-abi component-json egress-proxy exchange executor fs mcp plugin policy
    sandbox store store-conformance sys terminal text transport-http transport-stdio wasi web workspace-config)
if [ $# = 0 ]; then
    cargo test --quiet --release --target $target --no-fail-fast "${crates[@]/#/-pscorpiox-}"
fi
(cd tests && cargo test --quiet --target $target --test e2e -- --test-threads 2 "$@")
