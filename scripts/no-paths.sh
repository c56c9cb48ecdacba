# Sourced in the project's folder. What is built for others names no folder of this machine: the same source gives the
# same bytes wherever it lies.
sources=${CARGO_HOME:-$HOME/.cargo}/registry/src
no_paths=("--remap-path-prefix=$PWD=." "--remap-path-prefix=$sources=crates")
# Cargo takes such flags apart at their spaces.
[[ $PWD$sources != *[[:space:]]* ]] || no_paths=()

# without_paths TARGET: has cargo do so for it. What .cargo/config.toml says for TARGET holds no more.
without_paths() {
    export "CARGO_TARGET_$(tr a-z- A-Z_ <<<"$1")_RUSTFLAGS=${no_paths[*]}"
}
