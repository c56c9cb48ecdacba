#!/usr/bin/env bash
# The tests as programs of Windows, under Wine: tests/windows/run.sh FILTER…
#
# The host's crates in memory, and then the finished program over pipes. What is left out of the tests of the finished
# program is marked in tests/e2e, with its reason. With FILTER only those of the finished program that it names.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/need.sh x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64
wine=/usr/lib/wine/wine64
[ -x "$wine" ] || scripts/need.sh wine64-stable wine64 2>/dev/null || [ -x "$wine" ] || {
    echo "wine64 is missing, which these tests need; install the package wine64" >&2
    exit 1
}

export WINEPREFIX=$PWD/target/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree=;mshtml=;bcryptprimitives=n"
system=$WINEPREFIX/drive_c/windows/system32
if [ ! -e "$system/bcryptprimitives.dll" ]; then
    "$wine" wineboot --init
    x86_64-w64-mingw32-gcc -O2 -shared -o "$system/bcryptprimitives.dll" tests/windows/prng.c -ladvapi32
fi

export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine
target=x86_64-pc-windows-gnu
# Those that are empty on Windows, or for its own tests have nothing there.
crates=(windows paths home executor text rpc settings transcript plugin terminal store store-conformance audit proxy
    policy rules operator cell)
if [ $# = 0 ]; then
    cargo test --quiet --release --target $target "${crates[@]/#/-pscorpiox-}"
fi
(cd tests && cargo test --quiet --target $target --test e2e -- --test-threads 2 "$@")
