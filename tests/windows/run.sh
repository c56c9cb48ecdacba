#!/usr/bin/env bash
# The tests as programs of Windows, under Wine: tests/windows/run.sh FILTER…
#
# The host's crates in memory, and then the finished program over pipes. What is left out of the tests of the finished
# program is marked in tests/e2e, with its reason. With FILTER only those of the finished program that it names.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=tests/windows/wine.sh
. tests/windows/wine.sh
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine
target=x86_64-pc-windows-gnu

# Commands run in Git's bash there, which does not run under Wine. In its place are another shell that reads the same
# language, and the programs that tests call.
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
# Left out are those that are empty on Windows, and those whose tests make links, or look into a sandbox of commands.
crates=(windows paths home executor text rpc settings transcript plugin terminal store store-conformance audit proxy
    policy rules operator cell anatomy mcp reflect wasi skills web clients seal http stdio)
if [ $# = 0 ]; then
    cargo test --quiet --release --target $target --no-fail-fast "${crates[@]/#/-pscorpiox-}"
fi
(cd tests && cargo test --quiet --target $target --test e2e -- --test-threads 2 "$@")
