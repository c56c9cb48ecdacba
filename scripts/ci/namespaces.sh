#!/usr/bin/env bash
# namespaces.sh: lets programs without an AppArmor profile create user namespaces, as tests of the sandbox need. Ubuntu
# 24.04 forbids it; other systems have no such setting.
set -euo pipefail
setting=/proc/sys/kernel/apparmor_restrict_unprivileged_userns
if [ -e "$setting" ] && [ "$(cat "$setting")" = 1 ]; then
    sudo -n sysctl --quiet --write kernel.apparmor_restrict_unprivileged_userns=0
fi
