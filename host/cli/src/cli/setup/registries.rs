//! Finds the registries that the user's own tools are set up for.
//!
//! Files of the user and of the system are read. If they name no registry, npm and pip themselves are asked for the one
//! that they use: in the sandbox, away from the project, which could name another one. No registry is known here.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use scorpiox_audit::Uses;
use scorpiox_executor::Cancel;
use scorpiox_policy::{HostRules, Network};
use scorpiox_shell::{As, DEFAULT_PROFILE, Request, Shell};
use scorpiox_workspace_config::Operator;

use super::super::environment::Environment;

/// Maximum time to ask npm and pip. The user waits for it.
const ASK_TIME: Duration = Duration::from_secs(20);
/// Maximum length of their answers.
const MAX_CHARS: usize = 4000;
/// Maximum size of a file to read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Maximum number of hosts of a tool.
const MAX_HOSTS: usize = 8;
/// Beginning of the lines with the answers.
const MARK: &str = "scorpiox:";

/// Registry of a tool.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Registry {
    /// The tool.
    pub(super) tool: &'static str,
    /// Its hosts, each with a port that is not that of its protocol, and whether commands reach it.
    hosts: Vec<(String, bool)>,
}

impl Registry {
    /// Returns the hosts.
    pub(super) fn names(&self) -> Vec<&str> {
        self.hosts.iter().map(|(host, _)| host.as_str()).collect()
    }

    /// Returns the hosts that commands do not reach.
    pub(super) fn closed(&self) -> Vec<String> {
        self.hosts.iter().filter(|(_, is_open)| !is_open).map(|(host, _)| host.clone()).collect()
    }
}

/// Finds the registries, and the reason why npm and pip could not be asked.
pub(super) fn find(environment: &Environment, home: &Path) -> (Vec<Registry>, Option<String>) {
    let operator = Arc::new(Operator::new(environment.site()));
    let around = Around { home, variable: &variable };
    let (mut npm, mut pip, cargo) = (of_npm(&around), of_pip(&around), of_cargo(&around));
    let mut unasked = None;
    if npm.is_empty() || pip.is_empty() {
        match asked(&operator) {
            Ok((of_npm, of_pip)) => {
                npm = if npm.is_empty() { of_npm } else { npm };
                pip = if pip.is_empty() { of_pip } else { pip };
            }
            Err(why) => unasked = Some(why),
        }
    }
    let network = operator.profile(DEFAULT_PROFILE).ok().map(|profile| profile.network.value.clone());
    let is_open = |host: &String| {
        let (name, port) = host.rsplit_once(':').unwrap_or((host, "443"));
        match &network {
            Some(Network::Open) => true,
            Some(Network::Allowlist { hosts, .. }) => {
                scorpiox_policy::covers(hosts, name, port.parse().unwrap_or_default())
            }
            Some(Network::Off) | None => false,
        }
    };
    let registries =
        [("npm", npm), ("pip", pip), ("cargo", cargo)].into_iter().filter_map(|(tool, mut urls)| {
            urls.dedup();
            let mut hosts: Vec<String> = Vec::new();
            for host in urls.iter().filter_map(|url| host_of(url)) {
                if !hosts.contains(&host) && hosts.len() < MAX_HOSTS {
                    hosts.push(host);
                }
            }
            let hosts: Vec<_> = hosts
                .into_iter()
                .map(|host| {
                    let open = is_open(&host);
                    (host, open)
                })
                .collect();
            (!hosts.is_empty()).then_some(Registry { tool, hosts })
        });
    (registries.collect(), unasked)
}

/// Returns the host of a URL as policies list it: with its port, unless that is the port of the protocol. Other texts,
/// and hosts that cannot be listed, have none.
fn host_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.trim().trim_start_matches("sparse+").split_once("://")?;
    let usual = match scheme {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host.to_owned(), port.parse().ok()?),
        _ => (authority, usual),
    };
    HostRules::entry(&host, port)
}

/// Places in which tools look for their files.
struct Around<'a> {
    home: &'a Path,
    /// Looks up an environment variable. Returns `None` if it is not set.
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Around<'_> {
    fn path(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable).map(PathBuf::from)
    }
}

/// Returns the URLs that npm's files name.
fn of_npm(around: &Around<'_>) -> Vec<String> {
    let own = around.path("NPM_CONFIG_USERCONFIG").unwrap_or_else(|| around.home.join(".npmrc"));
    let lines = assignments(&read(&own));
    let is_registry = |key: &str| key == "registry" || key.ends_with(":registry");
    lines.into_iter().filter(|(key, _)| is_registry(key)).map(|(_, value)| value).collect()
}

/// Returns the URLs that pip's variables and files name.
fn of_pip(around: &Around<'_>) -> Vec<String> {
    let config = around.path("XDG_CONFIG_HOME").unwrap_or_else(|| around.home.join(".config"));
    let files = [
        around.path("PIP_CONFIG_FILE"),
        Some(config.join("pip").join("pip.conf")),
        Some(around.home.join(".pip").join("pip.conf")),
        Some(PathBuf::from("/etc/pip.conf")),
    ];
    let lines = files.iter().flatten().flat_map(|file| assignments(&read(file)));
    let is_index = |key: &str| matches!(key.replace('_', "-").as_str(), "index-url" | "extra-index-url");
    let named = lines.filter(|(key, _)| is_index(key)).map(|(_, value)| value);
    let variables = ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"].into_iter().filter_map(around.variable);
    // A value can name several.
    variables
        .chain(named)
        .flat_map(|value| value.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Returns the URLs of cargo's settings, and of the registries that it has used.
fn of_cargo(around: &Around<'_>) -> Vec<String> {
    let folder = around.path("CARGO_HOME").unwrap_or_else(|| around.home.join(".cargo"));
    let mut urls = Vec::new();
    for name in ["config.toml", "config"] {
        let lines = assignments(&read(&folder.join(name)));
        urls.extend(
            lines.into_iter().filter(|(key, _)| key == "registry" || key == "index").map(|(_, value)| value),
        );
    }
    let used = fs::read_dir(folder.join("registry").join("index"));
    for entry in used.into_iter().flatten().flatten().take(MAX_HOSTS) {
        let name = entry.file_name().to_string_lossy().into_owned();
        // The name of the host and a hash.
        if let Some((host, _)) = name.rsplit_once('-') {
            urls.push(format!("https://{host}/"));
        }
        let config: serde_json::Value =
            serde_json::from_str(&read(&entry.path().join("config.json"))).unwrap_or_default();
        urls.extend(config["dl"].as_str().map(str::to_owned));
    }
    urls
}

/// Asks npm and pip.
fn asked(operator: &Arc<Operator>) -> Result<(Vec<String>, Vec<String>), String> {
    let shell = Shell::new(Arc::clone(operator));
    let request = Request {
        command: format!(
            "cd /tmp || exit 1\n\
             echo {MARK}npm $(command -v npm >/dev/null && npm config get registry 2>/dev/null)\n\
             for pip in pip3 pip; do command -v $pip >/dev/null && break; done\n\
             echo {MARK}pip $($pip install --help 2>/dev/null | tr -d '\\n' | grep -o 'default *https*://[^) ]*')\n"
        ),
        run_as: As::Client { read_only: true },
        timeout: Some(ASK_TIME),
        uses: Uses::default(),
    };
    let done = shell.run(&request, &Cancel::default(), MAX_CHARS);
    shell.shut_down();
    let done = done.map_err(|error| error.to_string())?;
    let urls = |tool: &str| -> Vec<String> {
        let lines = done.output.text.lines().filter_map(|line| line.strip_prefix(MARK)?.strip_prefix(tool));
        lines
            .flat_map(|line| {
                line.split_whitespace()
                    .filter(|word| word.contains("://"))
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect()
    };
    Ok((urls("npm"), urls("pip")))
}

/// Returns the assignments of a file with lines of the form `key = value`, as npm, pip and cargo write them.
fn assignments(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';']));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs
        .map(|(key, value)| {
            (key.trim().to_ascii_lowercase(), value.trim().trim_matches(['"', '\'']).to_owned())
        })
        .collect()
}

/// Returns the text of a file; an empty one if there is none.
fn read(path: &Path) -> String {
    let is_small = path.metadata().is_ok_and(|found| found.is_file() && found.len() <= MAX_FILE_BYTES);
    if is_small { fs::read_to_string(path).unwrap_or_default() } else { String::new() }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_those_of_urls() {
        for (url, expected) in [
            ("https://packages.example.com/npm/", Some("packages.example.com")),
            ("sparse+https://index.example.com/", Some("index.example.com")),
            ("https://name:word@packages.example.com:8443/simple", Some("packages.example.com:8443")),
            ("http://packages.example.com", Some("packages.example.com")),
            ("HTTPS://packages.example.com", None),
            ("ssh://packages.example.com", None),
            ("packages.example.com", None),
            ("https://", None),
            ("https://a b/", None),
        ] {
            assert_eq!(host_of(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn the_files_of_each_tool_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, text).expect("a file");
        };
        put(
            ".npmrc",
            "; x\nregistry=https://npm.example.com/\n@a:registry = \"https://a.example.com\"\n//npm.example.com/:_authToken=x\n",
        );
        put(
            ".pip/pip.conf",
            "[global]\nindex-url = https://pip.example.com/simple\n# extra-index-url = https://no.example.com\n",
        );
        put(".cargo/config.toml", "[source.x]\nregistry = \"sparse+https://cargo.example.com/\"\n");
        put(
            ".cargo/registry/index/index.example.com-0123456789abcdef/config.json",
            "{\"dl\": \"https://dl.example.com/crates\"}",
        );
        let around = Around { home: folder.path(), variable: &|_| None };
        assert_eq!(of_npm(&around), ["https://npm.example.com/", "https://a.example.com"]);
        assert!(of_pip(&around).contains(&"https://pip.example.com/simple".to_owned()));
        let cargo = [
            "sparse+https://cargo.example.com/",
            "https://index.example.com/",
            "https://dl.example.com/crates",
        ];
        assert_eq!(of_cargo(&around), cargo);
    }
}
