#!/usr/bin/env bash
# prepare.sh [NAME]: creates the private files of the containers in ./made: a random password, and a trial
# certificate for NAME (mcp.example.com). Existing files are kept: put your own certificate.pem and key.pem
# there. Run it as root, because the server trusts a policy only if root owns it.
set -euo pipefail
cd "$(dirname "$0")"
name=${1:-mcp.example.com}
# User of the server in the image.
user=65532

[ "$(id -u)" = 0 ] || { echo "prepare.sh: run it as root" >&2; exit 1; }
umask 077
mkdir -p made
[ -e made/store-password ] || openssl rand -hex 32 > made/store-password
[ -e made/key.pem ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \
    -subj "/CN=$name" -addext "subjectAltName=DNS:$name,DNS:localhost" -keyout made/key.pem -out made/certificate.pem 2>/dev/null
cp policy.toml made/policy.toml
sed -i "s|https://mcp.example.com:|https://$name:|" made/policy.toml
chmod 644 made/policy.toml made/certificate.pem
chmod 400 made/store-password made/key.pem
chown "$user:$user" made/store-password made/key.pem
# Only the files are mounted into the containers, so this directory can be closed to others on this machine.
chmod 700 made
