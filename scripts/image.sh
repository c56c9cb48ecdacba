#!/usr/bin/env bash
# image.sh PROGRAM [OUT]: an OCI image with PROGRAM, made without a daemon: OUT/layout, OUT/scorpiox-code.oci.tar and
# OUT/digest (target/image). The base is packages of Debian's, as apt of this machine has them: what Debian has changed
# since gives another base. The same packages and the same program give the same bytes.
#
# IMAGE_SOURCES names a file of lines for sources.list, such as those of a snapshot of Debian's archive.
set -euo pipefail
program=$1 out=${2:-target/image}
cd "$(dirname "$0")/.."
# Its C library must not be older than the one that the program was linked with.
# shellcheck source=/dev/null
suite=${IMAGE_SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
# What commands of tools need. Debian's essential packages have bash and coreutils.
packages=bash,ca-certificates,coreutils,git,libgcc-s1

scripts/need.sh mmdebstrap mmdebstrap
mkdir -p "$out"
# shellcheck disable=SC2016 # $1 is for the shell that mmdebstrap starts
clean='cd "$1"
# Which machine made it, and where that takes its packages from, is nothing to those who run it.
rm -rf etc/hostname etc/resolv.conf etc/apt/sources.list* var/lib/apt var/cache/debconf/*-old
# With `no_new_privs` such programs could do nothing; where somebody leaves that out, they should not be there.
find . -xdev -type f -perm /6000 -exec chmod a-s {} +
echo "scorpiox:x:65532:65532::/var/lib/scorpiox:/usr/sbin/nologin" >> etc/passwd
echo "scorpiox:x:65532:" >> etc/group'
# The time of each file is at most the epoch: else a commit would change the base, too.
SOURCE_DATE_EPOCH=0 mmdebstrap --quiet --variant=essential --include="$packages" --skip=output/dev \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --customize-hook="$clean" \
    "$suite" "$out/base.tar" ${IMAGE_SOURCES:+"$IMAGE_SOURCES"}

when=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
version=$("$program" --version)
python3 -B scripts/image/layout.py "$out" "$out/base.tar" "$program" "$when" "${version##* }" "$(git rev-parse HEAD)"
rm "$out/base.tar"
