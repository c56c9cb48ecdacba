#!/usr/bin/env bash
# Wrapper that cargo runs in place of rustc: tests/peers/rustc.sh RUSTC ARGUMENT...
#
# Some crates use names of the standard library that are stable for WASI preview 1 and unstable for 0.2. The
# wrapper compiles these crates for 0.2 without changes.
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
