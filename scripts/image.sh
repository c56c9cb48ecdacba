#!/usr/bin/env bash
# image.sh PROGRAM [OUT]: builds an OCI image with PROGRAM, without a daemon: OUT/layout,
# OUT/scorpiox-code.oci.tar and OUT/digest (OUT: target/image). The base consists of Debian packages from this
# machine's apt sources, so package updates change the base. The same packages and the same program yield the
# same bytes.
#
# IMAGE_SOURCES is a file with lines for sources.list, for example of a snapshot of Debian's archive.
set -euo pipefail
program=$1 out=${2:-target/image}
cd "$(dirname "$0")/.."
# The C library of the image must not be older than that of the build.
# shellcheck source=/dev/null
suite=${IMAGE_SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
# Packages for commands of tools. Debian's essential packages include bash and coreutils.
packages=bash,ca-certificates,coreutils,git,libgcc-s1

scripts/need.sh mmdebstrap mmdebstrap
mkdir -p "$out"
# shellcheck disable=SC2016 # $1 is for the shell that mmdebstrap starts
clean='cd "$1"
# Properties of the build machine and its package sources are not part of the image.
rm -rf etc/hostname etc/resolv.conf etc/apt/sources.list* var/lib/apt var/cache/debconf/*-old
# With `no_new_privs` setuid programs have no effect. Without it, they must not exist.
find . -xdev -type f -perm /6000 -exec chmod a-s {} +
echo "scorpiox:x:65532:65532::/var/lib/scorpiox:/usr/sbin/nologin" >> etc/passwd
echo "scorpiox:x:65532:" >> etc/group'
# File times are clamped to the epoch, so that a commit does not change the base.
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
