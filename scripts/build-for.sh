#!/usr/bin/env bash
# build-for.sh TARGET FOLDER GUEST…: the program for another system, or for older versions of this one, built on Linux:
# target/TARGET/release/scorpiox-code. What `make build` made in FOLDER is used as far as it is the same everywhere:
# definitions and hashes.
set -euo pipefail
target=$1 components=$2
shift 2
out=$components-$target
guests=tools-wasm/target/wasm32-unknown-unknown/release
# The oldest GNU C library that programs for Linux run with: that of 2018.
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
        # The two libraries of the system that zig does not describe, and the oldest macOS that runs the program.
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
    # What the linker takes away is what debuggers want; rustc does it for each system.
    export CARGO_PROFILE_RELEASE_STRIP=symbols
    printf '#!/bin/sh\nexec cp "$3" "$2"\n' > target/tools/zig-strip
    chmod +x target/tools/zig-strip
fi

mkdir -p "$out"
if [ -n "$helper" ]; then
    need_target "$helper"
    without_paths "$helper"
    "${build[@]}" --quiet --profile helper -p scorpiox-helper --bin scorpiox-cell --target "$helper"
    cmp -s "target/$helper/helper/scorpiox-cell" "$out/helper" || cp "target/$helper/helper/scorpiox-cell" "$out/helper"
else
    # There are no cells there.
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
        # The compiler of the build knows this machine's processor alone.
        cargo build --quiet --release -p scorpiox-compiler --features other-processors --target-dir target/other-processors
        target/other-processors/release/scorpiox-compiler --target "$target" --out "$out" "${named[@]}"
        ;;
esac
# What `make build` made is for this machine's own C library.
[ "$target" != "$(rustc -vV | sed -n 's/^host: //p')" ] || export SCORPIOX_BUILD_COMPONENTS=$PWD/$out
"${build[@]}" --quiet --release --target "$built_for" -p scorpiox-compiler
scripts/pack-compiler.sh "target/$target/release/scorpiox-compiler$exe" "$out/compiler.gz" "$strip"
"${build[@]}" --release --target "$built_for" -p scorpiox-code
