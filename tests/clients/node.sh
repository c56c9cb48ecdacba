# Installs a recent Node, and pinned packages for it. Sourced by scripts that define `missing`.

# Runs a command unless it already ran for the same content: once FOLDER CONTENT COMMAND...
once() {
    local stamp=$1/.made-for content=$2
    shift 2
    [ "$(cat "$stamp" 2>/dev/null)" = "$content" ] && return
    "$@"
    printf '%s' "$content" > "$stamp"
}

# Puts a Node that is recent enough for the named purpose into PATH.
set_up_node() {
    local what=$1 advice="install Node 22.19 or newer, with npm, from https://nodejs.org" folder
    command -v node >/dev/null || missing "node is missing; $advice"
    command -v npm >/dev/null || missing "npm is missing; $advice"
    node_is_new_enough && return
    local own
    own=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/node
    once "$own/node_modules" "$(uname -sm; cat "$own/package-lock.json")" npm_ci "$own"
    for folder in "$own"/node_modules/node-*/bin; do
        PATH=$folder:$PATH
    done
    node_is_new_enough || missing "node $(node --version) is too old for $what; $advice"
}

node_is_new_enough() {
    node -e 'const [major, minor] = process.versions.node.split(".").map(Number);
             process.exit(major > 22 || (major === 22 && minor >= 19) ? 0 : 1)'
}

npm_ci() {
    local folder=$1
    shift
    npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error "$@" >/dev/null ||
        missing "npm could not install $folder/package-lock.json; is there a connection to the package registry?"
}
