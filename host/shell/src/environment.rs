//! Environment variables of a command, built from scratch.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};

use scorpiox_policy::{HostPattern, Network as NetworkRule, Places, Profile};
use scorpiox_sandbox::{Network, PROXY_PORT, Tier};
use scorpiox_workspace_config::Site;

use super::plan::Plan;

/// Program folders that exist on every Unix machine.
#[cfg(not(windows))]
const SYSTEM_PATH: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// Program folders of the package managers on macOS.
#[cfg(not(windows))]
const MACOS_PATH: [&str; 2] = ["/opt/homebrew/bin", "/opt/local/bin"];

/// Settings that suppress prompts, terminal output effects, and actions that commands may not perform.
const FIXED: [(&str, &str); 20] = [
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
    // What a background command prints is read while it runs.
    ("PYTHONUNBUFFERED", "1"),
    // The `fetch` of Node 24 uses the proxy only with this variable.
    ("NODE_USE_ENV_PROXY", "1"),
    // LeakSanitizer traces its own process, which the sandbox forbids, and would make every program fail at
    // exit. AddressSanitizer also reads its own options, for commands that set those of LeakSanitizer themselves.
    ("LSAN_OPTIONS", NO_LEAKS),
    ("ASAN_OPTIONS", NO_LEAKS),
];

/// Settings of git for commands. Given as variables, they take precedence over every configuration, and the options of a
/// single git command over them.
const GIT: [(&str, &str); 3] = [
    // Git notes which branch a new one follows in the repository's configuration, which no command can write. It does so
    // before it moves `HEAD`, but after it changed the files.
    ("branch.autoSetupMerge", "false"),
    // A work tree that commands do not see is not gone.
    ("gc.worktreePruneExpire", "never"),
    // Its folder cannot be created, and its list of conflicts counts as one of a stranger.
    ("rerere.enabled", "false"),
];
/// Number of settings among the variables, and the prefixes of their names and values.
const GIT_COUNT: &str = "GIT_CONFIG_COUNT";
const GIT_KEY: &str = "GIT_CONFIG_KEY_";
const GIT_VALUE: &str = "GIT_CONFIG_VALUE_";
/// Maximum number of settings that a policy can give along with these.
const MAX_GIT_SETTINGS: usize = 1000;

/// Adds the settings of git that the variables do not have yet. With a count that git refuses, or a setting that is
/// missing, nothing is added: git explains that.
fn add_git_settings(variables: &mut BTreeMap<String, String>) {
    let count = variables.get(GIT_COUNT).map_or("", String::as_str);
    let count = if count.is_empty() {
        Some(0)
    } else {
        count.parse().ok().filter(|count| *count <= MAX_GIT_SETTINGS)
    };
    let Some(count) = count else { return };
    let given: Option<Vec<_>> = (0..count)
        .map(|at| variables.get(&format!("{GIT_KEY}{at}")).map(|key| key.to_ascii_lowercase()))
        .collect();
    let Some(given) = given else { return };
    let own = GIT.iter().filter(|(key, _)| !given.contains(&key.to_ascii_lowercase()));
    let mut end = count;
    for (key, value) in own {
        variables.insert(format!("{GIT_KEY}{end}"), (*key).to_owned());
        variables.insert(format!("{GIT_VALUE}{end}"), (*value).to_owned());
        end += 1;
    }
    variables.insert(GIT_COUNT.to_owned(), end.to_string());
}

/// Option of sanitizers that turns `LeakSanitizer` off, and its name.
const NO_LEAKS: &str = "detect_leaks=0";
const LEAKS: &str = "detect_leaks";

/// Returns the value that a policy gives a variable, for commands. Options of sanitizers are kept, and `LeakSanitizer`
/// stays off unless they mention it.
fn given(name: &str, value: String) -> String {
    let is_of_sanitizers = ["LSAN_OPTIONS", "ASAN_OPTIONS"].contains(&name);
    match &*value {
        "" if is_of_sanitizers => NO_LEAKS.to_owned(),
        given if is_of_sanitizers && !given.contains(LEAKS) => format!("{given}:{NO_LEAKS}"),
        _ => value,
    }
}

/// Settings that make package managers fail at once, not after minutes of retries, if no host is allowed.
const WITHOUT_HOSTS: [(&str, &str); 5] = [
    ("npm_config_fetch_retries", "0"),
    ("PIP_RETRIES", "0"),
    ("CARGO_NET_RETRY", "0"),
    ("UV_HTTP_RETRIES", "0"),
    ("YARN_HTTP_RETRY", "0"),
];
/// The same if some hosts are allowed. Package managers also retry after a refusal, npm after 10 s.
const WITH_SOME_HOSTS: [(&str, &str); 6] = [
    ("npm_config_fetch_retries", "1"),
    ("npm_config_fetch_retry_mintimeout", "1000"),
    ("PIP_RETRIES", "1"),
    ("CARGO_NET_RETRY", "1"),
    ("UV_HTTP_RETRIES", "1"),
    ("YARN_HTTP_RETRY", "1"),
];

/// Returns the environment for commands of `profile` in a cell built from `plan`. The proxy listens on
/// `proxy_port`, or on [`PROXY_PORT`] if that is `None`.
pub(super) fn build(
    site: &Site,
    profile: &Profile,
    places: &Places,
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
        // Windows programs read these variables.
        set("TEMP", temporary.display().to_string());
        set("TMP", temporary.display().to_string());
        set("USERPROFILE", home.display().to_string());
    } else {
        set("PWD", site.workspace.display().to_string());
    }
    if plan.spec.tier == Tier::Seatbelt {
        // Hooks cannot be created in a new repository, so templates are disabled.
        set("GIT_TEMPLATE_DIR", String::new());
    }
    let tree = places.repository.as_deref().and_then(Path::parent);
    if tree.is_some_and(|tree| site.workspace.starts_with(tree)) {
        // In the cell, the workspace and the repository around it are mounted separately.
        set("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1".to_owned());
    }
    set("SHELL", "/bin/bash".to_owned());
    let user = user();
    set("USER", user.to_owned());
    set("LOGNAME", user.to_owned());
    set("LANG", "C.UTF-8".to_owned());
    set("PATH", path(plan));
    toolchains(site, &plan.toolchains, &mut set);
    let retries: &[_] = match &profile.network.value {
        NetworkRule::Off => &WITHOUT_HOSTS,
        NetworkRule::Allowlist { hosts, .. } if hosts.is_empty() => &WITHOUT_HOSTS,
        NetworkRule::Allowlist { .. } => &WITH_SOME_HOSTS,
        NetworkRule::Open => &[],
    };
    for (name, value) in retries {
        set(name, (*value).to_owned());
    }
    if plan.spec.network == Network::Proxy {
        proxy(proxy_port.unwrap_or(PROXY_PORT), &profile.network.value, &mut set);
    }
    for name in &profile.env.pass {
        if let Ok(value) = env::var(&name.value) {
            set(&name.value, given(&name.value, value));
        }
    }
    for (name, value) in &profile.env.set {
        set(name, given(name, value.value.clone()));
    }
    if plan.spec.tier != Tier::None {
        add_git_settings(&mut variables);
    }
    variables.into_iter().filter(|(_, value)| !value.contains('\0')).collect()
}

/// Returns the user name that commands see.
#[cfg(unix)]
fn user() -> &'static str {
    if rustix::process::getuid().is_root() { "root" } else { "user" }
}

#[cfg(not(unix))]
fn user() -> &'static str {
    "user"
}

/// Returns `PATH` for commands without a sandbox: the folders of Git for Windows, then the host's `PATH`.
#[cfg(windows)]
fn path(_: &Plan) -> String {
    const GIT: [&str; 3] =
        [r"C:\Program Files\Git\mingw64\bin", r"C:\Program Files\Git\usr\bin", r"C:\Windows\System32"];
    let own = env::var_os("PATH").unwrap_or_default();
    let mut seen = BTreeSet::new();
    let folders = GIT.iter().map(PathBuf::from).chain(env::split_paths(&own));
    let once: Vec<PathBuf> =
        folders.filter(|folder| folder.is_absolute() && seen.insert(folder.clone())).collect();
    env::join_paths(once).ok().and_then(|path| path.into_string().ok()).unwrap_or_default()
}

/// Returns `PATH`: the folders of the host's `PATH` that commands can see, with all links resolved, then the system's.
#[cfg(not(windows))]
fn path(plan: &Plan) -> String {
    let own = env::var_os("PATH").unwrap_or_default();
    // The links on the way to a folder are not there in a cell.
    let resolved = env::split_paths(&own)
        .filter(|folder| folder.is_absolute())
        .filter_map(|folder| dunce::canonicalize(folder).ok());
    let opened = plan.areas.iter().filter(|area| !area.write).map(|area| &area.path);
    let open: Vec<_> = plan.toolchains.iter().chain(opened).collect();
    let seen = resolved.filter(|folder| open.iter().any(|open| folder.starts_with(open)));
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

/// Sets the root variables of version managers, which otherwise search a home directory that commands do not
/// have.
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

/// Names of the own machine. In a cell they mean the cell itself.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Sets the variables that lead to the proxy. It also gets the requests for the names of the own machine that the
/// profile lists: these mean the machine outside of the cell.
fn proxy(port: u16, network: &NetworkRule, set: &mut impl FnMut(&str, String)) {
    let address = format!("http://127.0.0.1:{port}");
    for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "npm_config_proxy"] {
        set(name, address.clone());
    }
    set("ALL_PROXY", format!("socks5h://127.0.0.1:{port}"));
    let direct = direct_names(network).join(",");
    for name in ["no_proxy", "NO_PROXY"] {
        set(name, direct.clone());
    }
}

/// Returns the names of the own machine that mean the cell, because the profile does not list them.
pub(super) fn direct_names(network: &NetworkRule) -> Vec<&'static str> {
    let hosts = match network {
        NetworkRule::Allowlist { hosts, .. } => hosts.as_slice(),
        NetworkRule::Off | NetworkRule::Open => &[],
    };
    let is_listed = |name: &str| {
        hosts.iter().any(|rule| match &rule.pattern {
            HostPattern::Exact(listed) => listed == name,
            HostPattern::Address(listed) => listed.to_string() == name,
            HostPattern::Below(_) => false,
        })
    };
    OWN_NAMES.into_iter().filter(|name| !is_listed(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_sanitizers_are_kept_and_leaks_are_not_looked_for() {
        for name in ["LSAN_OPTIONS", "ASAN_OPTIONS"] {
            let given = |value: &str| given(name, value.to_owned());
            assert_eq!(
                given("suppressions=a.txt:verbosity=1"),
                "suppressions=a.txt:verbosity=1:detect_leaks=0"
            );
            assert_eq!(given(""), "detect_leaks=0");
            assert_eq!(given("detect_leaks=1"), "detect_leaks=1");
        }
        assert_eq!(given("TSAN_OPTIONS", "a=b".to_owned()), "a=b");
        assert_eq!(given("PAGER", String::new()), "");
    }

    #[test]
    fn settings_of_git_are_added_to_those_of_a_policy() {
        let with = |given: &[(&str, &str)]| {
            let mut variables: BTreeMap<String, String> =
                given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            add_git_settings(&mut variables);
            variables.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        };
        let alone = [
            "GIT_CONFIG_COUNT=3",
            "GIT_CONFIG_KEY_0=branch.autoSetupMerge",
            "GIT_CONFIG_KEY_1=gc.worktreePruneExpire",
            "GIT_CONFIG_KEY_2=rerere.enabled",
            "GIT_CONFIG_VALUE_0=false",
            "GIT_CONFIG_VALUE_1=never",
            "GIT_CONFIG_VALUE_2=false",
        ];
        assert_eq!(with(&[]), alone);
        assert_eq!(with(&[("GIT_CONFIG_COUNT", "")]), alone);
        let own = [
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "Branch.autosetupmerge"),
            ("GIT_CONFIG_VALUE_0", "always"),
        ];
        let both = with(&own);
        assert_eq!(both[0], "GIT_CONFIG_COUNT=3");
        assert!(both.contains(&"GIT_CONFIG_VALUE_0=always".to_owned()), "{both:?}");
        assert!(both.contains(&"GIT_CONFIG_KEY_1=gc.worktreePruneExpire".to_owned()), "{both:?}");
        for count in ["x", "-1", "99999999999"] {
            assert_eq!(with(&[("GIT_CONFIG_COUNT", count)]), [format!("GIT_CONFIG_COUNT={count}")]);
        }
        assert_eq!(with(&own[..1]), ["GIT_CONFIG_COUNT=1"], "git says what is missing");
    }
}
