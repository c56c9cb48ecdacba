#!/usr/bin/env bash
# in-root.sh ROOT PACKAGES COMMAND: runs COMMAND in bash in the Debian in the folder ROOT, with the folder PACKAGES at
# /packages, Node at /opt/node, and all changes in memory.
set -euo pipefail
if [ "${1:-}" != inside ]; then
    exec unshare --mount "$0" inside "$@"
fi
shift
root=$(realpath "$1") packages=$(realpath "$2") command=$3
node=$(readlink -f "$(command -v node)") npm=$(npm root --global)/npm
memory=$root.memory
mkdir -p "$memory"
mount -t tmpfs tmpfs "$memory"
mkdir "$memory"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=$root,upperdir=$memory/upper,workdir=$memory/work" "$memory/root"
cd "$memory/root"
mount -t proc proc proc
mount --rbind /dev dev
mount -t tmpfs tmpfs tmp
mkdir -p packages opt/node/bin opt/node/lib/node_modules/npm
mount --bind "$packages" packages
touch opt/node/bin/node
mount --bind "$node" opt/node/bin/node
mount --bind "$npm" opt/node/lib/node_modules/npm
exec env -i HOME=/root LANG=C.UTF-8 PATH=/opt/node/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
    chroot . /bin/bash -euc "cd; $command"
