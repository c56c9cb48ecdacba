# To be sourced in the root directory of the repository. Removes local paths from released binaries, so that
# the same source yields the same bytes in any directory.
sources=${CARGO_HOME:-$HOME/.cargo}/registry/src
no_paths=("--remap-path-prefix=$PWD=." "--remap-path-prefix=$sources=crates")
# Cargo splits these flags at spaces.
[[ $PWD$sources != *[[:space:]]* ]] || no_paths=()

# without_paths TARGET: sets the flags for TARGET. They replace those of .cargo/config.toml.
without_paths() {
    export "CARGO_TARGET_$(tr a-z- A-Z_ <<<"$1")_RUSTFLAGS=${no_paths[*]}"
}
