#!/bin/sh
# Installs scorpiox-code @VERSION@ for this user. It verifies the signature of the release's sums with the public
# key below, and the sum of the archive. If a check fails or cannot be made, it installs nothing.
#
# usage: install.sh [--to FOLDER] [--from ADDRESS]
#   --to FOLDER      folder of the program (default: ~/.local/bin)
#   --from ADDRESS   mirror of the release: an https:// address, or a folder
set -eu

version='@VERSION@'
from='@DOWNLOADS@'
public='@PUBLIC_KEY@'
glibc='@GLIBC@'
# Systems with an archive: as `uname -s` and `uname -m` name them, and as file names do.
systems='@SYSTEMS@'
to=${HOME:-}/.local/bin
name=scorpiox-code
work='' new=''

fail() {
    printf '%s: %s; nothing was installed\n' "$name" "$1" >&2
    exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }
# Removes the files of an unfinished installation.
clean() {
    [ -z "$work" ] || rm -rf "$work"
    [ -z "$new" ] || rm -f "$new"
}

# Sets `system`, or fails on a system without an archive.
find_system() {
    kernel=$(uname -s) machine=$(uname -m)
    # A shell under Rosetta sees an Intel processor.
    [ "$kernel" != Darwin ] || [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" != 1 ] || machine=arm64
    system=$(printf '%s\n' "$systems" | awk -v kernel="$kernel" -v machine="$machine" '$1 == kernel && $2 == machine { print $3 }')
    [ -n "$system" ] || fail "there is no program for $kernel on $machine"
    [ "$kernel" = Linux ] || return 0
    found=$(getconf GNU_LIBC_VERSION 2>/dev/null) || fail "the program needs the GNU C library $glibc, which is not here"
    awk -v found="${found#* }" -v least="$glibc" 'BEGIN {
        split(found, have, "."); split(least, need, ".")
        exit !(have[1] > need[1] || have[1] == need[1] && have[2] + 0 >= need[2] + 0)
    }' || fail "the program needs the GNU C library $glibc; this system has ${found#* }"
}

# get FILE: downloads a file of the release into $work.
get() {
    case $from in
        https://*)
            if has curl; then
                curl --proto '=https' --tlsv1.2 --fail --silent --show-error --location --output "$work/$1" "$from/$1"
            elif has wget; then
                wget --https-only --quiet --output-document="$work/$1" "$from/$1"
            else
                fail "it needs curl or wget"
            fi
            ;;
        *://*) fail "$from is not an https:// address" ;;
        *) cp "$from/$1" "$work/$1" ;;
    esac || fail "$from/$1 cannot be read"
}

# part FILE FROM COUNT: prints bytes of a file in $work.
part() { dd if="$work/$1" bs=1 skip="$2" count="$3" 2>/dev/null; }
# Sets `openssl` to a version that can verify; that of macOS itself cannot.
find_openssl() {
    for openssl in openssl /opt/homebrew/opt/openssl@3/bin/openssl /usr/local/opt/openssl@3/bin/openssl; do
        if has "$openssl" && "$openssl" pkeyutl -help 2>&1 | grep -q -e '-rawin'; then return 0; fi
    done
    return 1
}
is_signed() { # is_signed MESSAGE SIGNATURE
    "$openssl" pkeyutl -verify -pubin -keyform DER -inkey "$work/key.der" -rawin \
        -in "$work/$1" -sigfile "$work/$2" >/dev/null 2>&1
}
# Verifies as minisign does (https://jedisct1.github.io/minisign/#signature-format), and sets `comment`.
verify_with_openssl() {
    printf '%s' "$public" | "$openssl" base64 -d -A >"$work/key" || return 1
    sed -n 2p "$work/SHA256SUMS.minisig" | "$openssl" base64 -d -A >"$work/signature" || return 1
    sed -n 4p "$work/SHA256SUMS.minisig" | "$openssl" base64 -d -A >"$work/of-comment" || return 1
    [ "$(wc -c <"$work/key")" -eq 42 ] && [ "$(wc -c <"$work/signature")" -eq 74 ] || return 1
    [ "$(part key 2 8 | od -An -tx1)" = "$(part signature 2 8 | od -An -tx1)" ] || return 1
    # Precedes an Ed25519 key in DER (RFC 8410).
    { printf '\060\052\060\005\006\003\053\145\160\003\041\000' && part key 10 32; } >"$work/key.der"
    part signature 10 64 >"$work/of-sums"
    case $(part signature 0 2 | od -An -tx1 | tr -d ' \n') in
        4564) cp "$work/SHA256SUMS" "$work/message" ;;
        4544) "$openssl" dgst -blake2b512 -binary "$work/SHA256SUMS" >"$work/message" || return 1 ;;
        *) return 1 ;;
    esac
    is_signed message of-sums || return 1
    comment=$(sed -n '3s/^trusted comment: //p' "$work/SHA256SUMS.minisig")
    { cat "$work/of-sums" && printf '%s' "$comment"; } >"$work/message"
    is_signed message of-comment
}

# Fails unless the release's key signed the sums, for this version.
verify_sums() {
    if has minisign; then
        comment=$(minisign -V -Q -P "$public" -m "$work/SHA256SUMS" -x "$work/SHA256SUMS.minisig" 2>/dev/null)
    elif find_openssl; then
        verify_with_openssl
    else
        fail "it needs minisign, or openssl 3, to verify the signature"
    fi || fail "the signature of $from/SHA256SUMS is not valid"
    case $comment in
        "$name $version sha256="*) ;;
        *) fail "the signature of $from/SHA256SUMS is for '$comment', and not for $name $version" ;;
    esac
}

sum() {
    if has sha256sum; then sha256sum "$1"; elif has shasum; then shasum -a 256 "$1"; else openssl dgst -sha256 -r "$1"; fi
}
# Fails unless the file has the sum that was signed.
verify_file() {
    expected=$(awk -v file="$1" '$2 == file { print $1 }' "$work/SHA256SUMS")
    actual=$(sum "$work/$1") || fail "the sum of $1 cannot be computed"
    [ "${#expected}" -eq 64 ] || fail "the release has no $1"
    [ "${actual%% *}" = "$expected" ] || fail "$1 does not have its signed sum"
}

main() {
    while [ $# -gt 0 ]; do
        [ $# -ge 2 ] || fail "usage: install.sh [--to FOLDER] [--from ADDRESS]"
        case $1 in
            --to) to=$2 ;;
            --from) from=${2%/} ;;
            *) fail "there is no option $1; usage: install.sh [--to FOLDER] [--from ADDRESS]" ;;
        esac
        shift 2
    done
    [ -n "$public" ] || fail "this installer was made without a public key, and can verify nothing"
    [ "$to" != /.local/bin ] || fail "HOME is not set; name the folder with --to"
    find_system
    trap clean EXIT
    trap 'exit 1' HUP INT TERM
    work=$(mktemp -d)
    get SHA256SUMS
    get SHA256SUMS.minisig
    verify_sums
    archive=$name-$version-$system.tar.gz
    get "$archive"
    verify_file "$archive"
    tar -xzf "$work/$archive" -C "$work" "$name-$version-$system/$name" || fail "$archive cannot be unpacked"
    mkdir -p "$to"
    new=$to/.$name.$$
    cp "$work/$name-$version-$system/$name" "$new"
    chmod 755 "$new"
    [ "$("$new" --version </dev/null)" = "$name $version" ] || fail "the program does not run here"
    mv -f "$new" "$to/$name"
    new=''
    printf 'installed %s %s; next: %s doctor\n' "$to/$name" "$version" "$to/$name"
    case :$PATH: in
        *":$to:"*) ;;
        *) printf '%s is not in PATH\n' "$to" ;;
    esac
}

# Stands last, so that a part of this file does nothing.
main "$@"
