#!/usr/bin/env bash
# Builds the WebAssembly guests of a cargo workspace: scripts/build-guests.sh FOLDER
#
# A guest requires the standard library for wasm32-unknown-unknown. It comes from the active toolchain, else
# from rustup, else from Debian's packages (SCORPIOX_GUEST_TOOLCHAIN=debian selects these immediately).
set -euo pipefail

folder=$1
target=wasm32-unknown-unknown
choice_file=target/guest-toolchain

# shellcheck source=scripts/no-paths.sh
. scripts/no-paths.sh
# Adds to the flags of .cargo/config.toml; an environment variable would replace them.
flags="target.$target.rustflags=[$([ ${#no_paths[@]} = 0 ] || printf "'%s'," "${no_paths[@]}")]"

say() { printf 'guests: %s\n' "$1" >&2; }

have_target() {
    [ -e "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]
}

find_toolchain() {
    if [ "${SCORPIOX_GUEST_TOOLCHAIN:-}" = debian ]; then
        have_debian || install_debian || { say "Debian's rustc-web cannot be installed here"; exit 1; }
        printf 'debian'
    elif have_target; then
        printf 'active'
    elif command -v rustup >/dev/null && timeout 20 rustup target add $target >/dev/null 2>&1 && have_target; then
        printf 'active'
    elif have_debian || install_debian; then
        printf 'debian'
    else
        say "no $target here; install it with 'rustup target add $target', or on Debian and Ubuntu with 'apt-get install rustc-web cargo-web rust-web-src'"
        exit 1
    fi
}

have_debian() {
    [ -x /usr/bin/rustc ] && [ -x /usr/bin/cargo ] && dpkg -s rust-web-src >/dev/null 2>&1
}

install_debian() {
    command -v apt-get >/dev/null || return 1
    local as_root=
    [ "$(id -u)" = 0 ] || as_root='sudo -n'
    {
        $as_root apt-get update && $as_root apt-get install -y --no-install-recommends rustc-web cargo-web rust-web-src
    } >/dev/null 2>&1
}

# Debian's compiler requires its own standard library sources, because those of another compiler do not build.
build_debian() {
    local linker
    linker=$(find "$(rustc --print sysroot)/lib/rustlib" -name rust-lld -type f 2>/dev/null | head -n 1)
    linker=${linker:-$(command -v rust-lld || command -v wasm-ld || find /usr/bin -name 'wasm-ld*' | head -n 1)}
    if [ -z "$linker" ]; then
        say "no linker for wasm: neither rust-lld in the toolchain nor wasm-ld; install it with 'apt-get install lld'"
        exit 1
    fi
    RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$linker \
        /usr/bin/cargo build -Z build-std=std,panic_abort --release --target $target --config "$flags" \
        --manifest-path "$folder/Cargo.toml"
}

mkdir -p target
toolchain=$(cat "$choice_file" 2>/dev/null || true)
if [ -z "$toolchain" ] || { [ "$toolchain" = active ] && ! have_target; } || [ -n "${SCORPIOX_GUEST_TOOLCHAIN:-}" ]; then
    toolchain=$(find_toolchain)
    printf '%s' "$toolchain" > "$choice_file"
fi
case $toolchain in
active)
    say "$folder with the active toolchain, $(rustc --version)"
    cargo build --quiet --release --target $target --config "$flags" --manifest-path "$folder/Cargo.toml"
    ;;
debian)
    say "$folder with Debian's toolchain, $(/usr/bin/rustc --version)"
    build_debian
    ;;
*)
    say "toolchain $toolchain is not known; use active or debian"
    exit 1
    ;;
esac
