#!/usr/bin/env bash
# cargo starts it in place of rustc: tests/peers/rustc.sh RUSTC ARGUMENT...
#
# Some crates use names of the standard library that a stable compiler has for WASI preview 1, and calls unstable
# for 0.2. This lets it compile them for 0.2 as they are.
set -euo pipefail

unstable=
name=
for argument in "$@"; do
    [ "$name" = --crate-name ] && case $argument in lexopt | rustix | tempfile | terminal_size) unstable=yes ;; esac
    name=$argument
done
if [ -n "$unstable" ] && [[ " $* " = *" wasm32-wasip2 "* ]]; then
    RUSTC_BOOTSTRAP=1 exec "$@" '-Zcrate-attr=feature(wasip2)'
fi
exec "$@"
