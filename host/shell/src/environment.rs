//! The environment of a command: made from nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};

use scorpiox_cell::{Network, PROXY_PORT, Tier};
use scorpiox_operator::Site;
use scorpiox_policy::Profile;

use super::plan::Plan;

/// Where programs are on every machine.
#[cfg(not(windows))]
const SYSTEM_PATH: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// Where the package managers of macOS put programs.
#[cfg(not(windows))]
const MACOS_PATH: [&str; 2] = ["/opt/homebrew/bin", "/opt/local/bin"];

/// Settings that make programs ask nobody, draw nothing, and try nothing that no command may.
const FIXED: [(&str, &str); 17] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("npm_config_yes", "true"),
    ("npm_config_update_notifier", "false"),
    // It looks for leaks by tracing its own process, which commands may not, and would fail at the end of each program.
    ("LSAN_OPTIONS", "detect_leaks=0"),
];

/// Settings of package managers where there is no network: they say so at once, and not after minutes of trying again.
const WITHOUT_NETWORK: [(&str, &str); 3] =
    [("npm_config_fetch_retries", "0"), ("PIP_RETRIES", "0"), ("CARGO_NET_RETRY", "0")];

/// The environment of commands of `profile` in a cell that is built after `plan`. The proxy is at [`PROXY_PORT`], or at
/// `proxy_port`.
pub(super) fn build(
    site: &Site,
    profile: &Profile,
    plan: &Plan,
    proxy_port: Option<u16>,
) -> Vec<(String, String)> {
    let mut variables: BTreeMap<String, String> =
        FIXED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let mut set = |name: &str, value: String| drop(variables.insert(name.to_owned(), value));
    let home = plan.spec.home.as_path();
    let in_memory = matches!(plan.spec.tier, Tier::T1 | Tier::T1b);
    let temporary = if in_memory { Path::new("/tmp") } else { plan.spec.scratch.as_path() };
    set("HOME", home.display().to_string());
    set("TMPDIR", temporary.display().to_string());
    if cfg!(windows) {
        // Where programs of Windows look.
        set("TEMP", temporary.display().to_string());
        set("TMP", temporary.display().to_string());
        set("USERPROFILE", home.display().to_string());
    } else {
        set("PWD", site.workspace.display().to_string());
    }
    if plan.spec.tier == Tier::Seatbelt {
        // Nothing can be put among the hooks of a new repository, templates neither.
        set("GIT_TEMPLATE_DIR", String::new());
    }
    set("SHELL", "/bin/bash".to_owned());
    let user = user();
    set("USER", user.to_owned());
    set("LOGNAME", user.to_owned());
    set("LANG", "C.UTF-8".to_owned());
    set("PATH", path(&plan.toolchains));
    toolchains(site, &plan.toolchains, &mut set);
    if plan.spec.network == Network::Off {
        for (name, value) in WITHOUT_NETWORK {
            set(name, value.to_owned());
        }
    }
    if plan.spec.network == Network::Proxy {
        proxy(proxy_port.unwrap_or(PROXY_PORT), &mut set);
    }
    for name in &profile.env.pass {
        if let Ok(value) = env::var(&name.value) {
            set(&name.value, value);
        }
    }
    for (name, value) in &profile.env.set {
        set(name, value.value.clone());
    }
    variables.into_iter().filter(|(_, value)| !value.contains('\0')).collect()
}

/// The name of who runs commands, as far as they see it.
#[cfg(unix)]
fn user() -> &'static str {
    if rustix::process::getuid().is_root() { "root" } else { "user" }
}

#[cfg(not(unix))]
fn user() -> &'static str {
    "user"
}

/// What commands without a sandbox find programs by: those of Git for Windows, then the host's own.
#[cfg(windows)]
fn path(_: &[PathBuf]) -> String {
    const GIT: [&str; 3] =
        [r"C:\Program Files\Git\mingw64\bin", r"C:\Program Files\Git\usr\bin", r"C:\Windows\System32"];
    let own = env::var_os("PATH").unwrap_or_default();
    let mut seen = BTreeSet::new();
    let folders = GIT.iter().map(PathBuf::from).chain(env::split_paths(&own));
    let once: Vec<PathBuf> =
        folders.filter(|folder| folder.is_absolute() && seen.insert(folder.clone())).collect();
    env::join_paths(once).ok().and_then(|path| path.into_string().ok()).unwrap_or_default()
}

/// The folders of the host's own `PATH` that commands can see, then the system's.
#[cfg(not(windows))]
fn path(toolchains: &[PathBuf]) -> String {
    let own = env::var_os("PATH").unwrap_or_default();
    let seen = env::split_paths(&own).filter(|folder| {
        let resolved = dunce::canonicalize(folder).unwrap_or_else(|_| folder.clone());
        folder.is_absolute() && toolchains.iter().any(|toolchain| resolved.starts_with(toolchain))
    });
    let mut folders: Vec<PathBuf> = seen.collect();
    if cfg!(target_os = "macos") {
        folders.extend(MACOS_PATH.iter().map(PathBuf::from));
    }
    folders.extend(SYSTEM_PATH.iter().map(PathBuf::from));
    let mut seen = BTreeSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    let mut text = String::new();
    for folder in folders.iter().filter_map(|folder| folder.to_str()).filter(|folder| !folder.contains(':')) {
        if !text.is_empty() {
            text.push(':');
        }
        text.push_str(folder);
    }
    text
}

/// Version managers look for their folders in a home that commands do not have.
fn toolchains(site: &Site, visible: &[PathBuf], set: &mut impl FnMut(&str, String)) {
    let Some(home) = &site.home else { return };
    for (variable, folder) in [
        ("RUSTUP_HOME", ".rustup"),
        ("PYENV_ROOT", ".pyenv"),
        ("NVM_DIR", ".nvm"),
        ("VOLTA_HOME", ".volta"),
        ("ASDF_DATA_DIR", ".asdf"),
        ("RBENV_ROOT", ".rbenv"),
        ("SDKMAN_DIR", ".sdkman"),
    ] {
        let folder = home.join(folder);
        let resolved = dunce::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
        if visible.contains(&resolved) {
            set(variable, resolved.display().to_string());
        }
    }
}

fn proxy(port: u16, set: &mut impl FnMut(&str, String)) {
    let address = format!("http://127.0.0.1:{port}");
    for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "npm_config_proxy"] {
        set(name, address.clone());
    }
    set("ALL_PROXY", format!("socks5h://127.0.0.1:{port}"));
    for name in ["no_proxy", "NO_PROXY"] {
        set(name, "localhost,127.0.0.1,::1".to_owned());
    }
}
