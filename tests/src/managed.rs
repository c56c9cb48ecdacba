//! Runs the program on a machine whose administrator installed a policy for all users.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::program::Program;

/// ID of a user that nothing else on the machine uses.
const USER: u32 = 65534;

/// Installs the policy in `/etc/scorpiox`, visible to this program alone, and starts the program as a
/// non-root user. That user first runs `script`; its failures are ignored.
///
/// The other files of `/etc` are those of the machine. If the tests do not run as root, the program runs in a
/// user namespace whose only user is root.
pub fn managed(program: Program, policy: &str, script: &str) -> Program {
    laid_out(program, &[("policy.toml", policy, 0o644)], script)
}

/// Like [`managed`], with these files and their modes.
pub fn laid_out(program: Program, files: &[(&str, &str, u32)], script: &str) -> Program {
    laid_out_for(program, files, script, rustix::process::geteuid().is_root())
}

/// Like [`laid_out`], for a program that root starts.
pub fn for_root(program: Program, files: &[(&str, &str, u32)]) -> Program {
    laid_out_for(program, files, "", false)
}

fn laid_out_for(program: Program, files: &[(&str, &str, u32)], script: &str, becomes_user: bool) -> Program {
    // The user may lack access to the directory of the original binary.
    let program = program.with_own_binary();
    for (name, text, mode) in files {
        let path = program.put(&format!("etc/scorpiox/{name}"), text);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(*mode)).expect("sets");
    }
    let etc = program.put("etc/scorpiox/.keep", "").parent().and_then(Path::parent).expect("it").to_owned();
    let root = etc.parent().expect("the test's folder").to_owned();
    let script_path = program.put("bin/first", format!("#!/bin/bash\n{script}\ntrue\n"));
    std::fs::set_permissions(&script_path, std::fs::Permissions::from_mode(0o755)).expect("sets");
    let map = if rustix::process::geteuid().is_root() { "" } else { "--map-root-user" };
    let user = if becomes_user {
        format!("setpriv --reuid={USER} --regid={USER} --clear-groups")
    } else {
        String::new()
    };
    // The user must own the user's own files.
    let own = if becomes_user {
        format!(
            "find '{0}' -mindepth 1 -maxdepth 1 ! -name etc ! -name bin -exec chown -R {USER}:{USER} {{}} +\n\
             chmod 755 '{0}' '{0}/bin'",
            root.display()
        )
    } else {
        String::new()
    };
    program.after(&format!(
        "[ \"$1\" = inside ] || exec unshare --mount {map} /bin/bash \"$0\" inside \"$@\"; shift\n\
         mount -t overlay overlay -o 'lowerdir={}:/etc' /etc\n{own}\n\
         {user} /bin/bash '{}' >&2 || true\nexec {user} '{}' \"$@\"",
        etc.display(),
        script_path.display(),
        root.join("bin/scorpiox-code").display(),
    ))
}
