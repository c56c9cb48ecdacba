#!/usr/bin/env bash
# build-for.sh TARGET FOLDER GUEST…: builds the program for another system, or for older versions of this one,
# on Linux: target/TARGET/release/scorpiox-code. The definitions and hashes, which are the same for all
# systems, come from the output of `make build` in FOLDER.
set -euo pipefail
target=$1 components=$2
shift 2
out=$components-$target
guests=tools-wasm/target/wasm32-unknown-unknown/release
# Oldest supported GNU C library of Linux programs, from 2018.
glibc=2.28

have_target() { [ -e "$(rustc --print sysroot)/lib/rustlib/$1/lib" ]; }
need_target() {
    have_target "$1" || rustup target add "$1" >/dev/null 2>&1 || {
        echo "the standard library for $1 is missing; install it with 'rustup target add $1'" >&2
        exit 1
    }
}

exe= helper= built_for=$target
case $target in
    *-windows-gnu)
        scripts/need.sh x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64
        build=(cargo build) exe=.exe strip=x86_64-w64-mingw32-strip
        ;;
    *-apple-darwin)
        build=(cargo zigbuild) strip=target/tools/zig-strip
        # Stubs of the two system libraries that zig does not include, and the oldest supported macOS.
        export SDKROOT=$PWD/scripts/macos-sdk MACOSX_DEPLOYMENT_TARGET=11.0
        ;;
    *-linux-gnu) build=(cargo zigbuild) built_for=$target.$glibc helper=${target%-gnu}-musl strip=target/tools/zig-strip ;;
    *)
        echo "build-for: no way is known to build for $target" >&2
        exit 1
        ;;
esac
need_target "$target"
# shellcheck source=scripts/no-paths.sh
. scripts/no-paths.sh
without_paths "$target"
if [ "${build[1]}" = zigbuild ]; then
    scripts/zig.sh target/tools/zig
    export PATH=$PWD/target/tools/zig/bin:$PATH
    # The replacement for strip only copies, because rustc strips symbols for each system.
    export CARGO_PROFILE_RELEASE_STRIP=symbols
    printf '#!/bin/sh\nexec cp "$3" "$2"\n' > target/tools/zig-strip
    chmod +x target/tools/zig-strip
fi

mkdir -p "$out"
if [ -n "$helper" ]; then
    need_target "$helper"
    without_paths "$helper"
    "${build[@]}" --quiet --profile helper -p scorpiox-sandbox-helper --bin scorpiox-cell --target "$helper"
    cmp -s "target/$helper/helper/scorpiox-cell" "$out/helper" || cp "target/$helper/helper/scorpiox-cell" "$out/helper"
else
    # The sandbox helper only exists on Linux.
    [ -e "$out/helper" ] || : >"$out/helper"
fi
named=()
for guest in "$@"; do
    named+=("$guest=$guests/${guest//-/_}.wasm")
    for kind in tools.json hash; do
        cmp -s "$components/$guest.$kind" "$out/$guest.$kind" || cp "$components/$guest.$kind" "$out/$guest.$kind"
    done
done
case $target in
    x86_64-*) target/release/scorpiox-compiler --target "$target" --out "$out" "${named[@]}" ;;
    *)
        # The default compiler only supports the processor of this machine.
        cargo build --quiet --release -p scorpiox-compiler --features other-processors --target-dir target/other-processors
        target/other-processors/release/scorpiox-compiler --target "$target" --out "$out" "${named[@]}"
        ;;
esac
# The output of `make build` is for the C library of this machine.
[ "$target" != "$(rustc -vV | sed -n 's/^host: //p')" ] || export SCORPIOX_BUILD_COMPONENTS=$PWD/$out
"${build[@]}" --quiet --release --target "$built_for" -p scorpiox-compiler
scripts/pack-compiler.sh "target/$target/release/scorpiox-compiler$exe" "$out/compiler.gz" "$strip"
"${build[@]}" --release --target "$built_for" -p scorpiox-code
