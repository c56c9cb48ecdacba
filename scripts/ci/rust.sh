#!/usr/bin/env bash
# rust.sh: installs the oldest supported version of Rust, which the workspace names, if the installed one is older.
set -euo pipefail
cd "$(dirname "$0")/../.."
needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
found=$(rustc --version 2>/dev/null | cut -d' ' -f2 || true)
if [ -z "$found" ] || [ "$(printf '%s\n' "$needed" "$found" | sort -V | head -n 1)" != "$needed" ]; then
    rustup toolchain install "$needed" --profile minimal --component clippy,rustfmt
    rustup default "$needed"
fi
rustc --version
