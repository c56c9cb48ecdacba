#!/usr/bin/env bash
# build-windows.sh FOLDER GUEST…: the program for Windows, on Linux: target/x86_64-pc-windows-gnu/release/scorpiox-code.exe.
# What `make build` made in FOLDER is used as far as it is the same on each system: definitions and hashes.
set -euo pipefail
components=$1
shift
target=x86_64-pc-windows-gnu
out=$components-$target
guests=tools-wasm/target/wasm32-unknown-unknown/release

scripts/need.sh x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64
[ -e "$(rustc --print sysroot)/lib/rustlib/$target/lib" ] || rustup target add "$target" >/dev/null 2>&1 || {
    echo "windows: the standard library for $target is missing; install it with 'rustup target add $target'" >&2
    exit 1
}

mkdir -p "$out"
# There are no cells there.
[ -e "$out/helper" ] || : >"$out/helper"
named=()
for guest in "$@"; do
    named+=("$guest=$guests/${guest//-/_}.wasm")
    for kind in tools.json hash; do
        cmp -s "$components/$guest.$kind" "$out/$guest.$kind" || cp "$components/$guest.$kind" "$out/$guest.$kind"
    done
done
target/release/scorpiox-compiler --target "$target" --out "$out" "${named[@]}"
cargo build --quiet --release --target "$target" -p scorpiox-compiler
scripts/pack-compiler.sh "target/$target/release/scorpiox-compiler.exe" "$out/compiler.gz" x86_64-w64-mingw32-strip
cargo build --release --target "$target" -p scorpiox-code
