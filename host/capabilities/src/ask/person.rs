//! Programs and environment variables for asking the user, outside of any sandbox.
//!
//! Programs come only from fixed system directories that commands cannot write, never from `PATH`. Only a few
//! variables are passed on; a variable that contains a path writable by commands is omitted.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use scorpiox_fs::{Writable, programs, resolve};
use scorpiox_questions::launch::{Surroundings, Way, is_passed_on, paths_in, ways};

use scorpiox_workspace_config::Operator;

/// Environment in which the user can be reached.
pub(super) struct Person {
    variables: BTreeMap<String, String>,
    writable: Writable,
}

impl Person {
    /// Reads the trusted part of this process's environment. Fails if the paths writable by commands are
    /// unknown.
    pub(super) fn new(operator: &Operator) -> Result<Self, String> {
        let writable = operator.writable().map_err(|error| error.to_string())?;
        Ok(Self { variables: trusted(env::vars_os(), &writable), writable })
    }

    /// Returns all methods of asking, best first. `screen` is the program that shows the screen, with its
    /// arguments.
    pub(super) fn ways(&self, screen: &[OsString]) -> Vec<Way> {
        let find = |name: &str| programs::find(name, &self.writable);
        let variable = |name: &str| self.variables.get(name).map(OsString::from);
        ways(&Surroundings::new(variable, &find), screen)
    }

    /// Returns the environment of a program that asks.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let own = self.variables.iter().map(|(name, value)| (name.clone(), value.clone()));
        own.chain([("PATH".to_owned(), programs::path_variable())]).collect()
    }
}

fn trusted(
    variables: impl Iterator<Item = (OsString, OsString)>,
    writable: &Writable,
) -> BTreeMap<String, String> {
    let known =
        variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let passed = known.filter(|(name, _)| is_passed_on(name));
    let judged = passed.filter(|(name, value)| {
        let leads_to_commands = paths_in(value).any(|path| !is_apart(Path::new(path), writable));
        let fits = !leads_to_commands && (name != "TMUX" || is_own_socket(value, writable));
        if !fits {
            tracing::warn!(
                "{name} is not used to ask questions: it leads to where commands can write, or to others"
            );
        }
        fits
    });
    judged.collect()
}

/// Returns `true` if commands cannot replace anything that the path leads to.
fn is_apart(path: &Path, writable: &Writable) -> bool {
    resolve(path, writable).is_ok_and(|path| !writable.covers(&path))
}

/// Returns `true` if the value of `TMUX` names a socket of this user or of root.
fn is_own_socket(tmux: &str, writable: &Writable) -> bool {
    let path = Path::new(tmux.split(',').next().unwrap_or_default());
    let Ok(path) = resolve(path, writable) else { return false };
    let own = rustix::process::geteuid().as_raw();
    path.symlink_metadata()
        .is_ok_and(|found| found.file_type().is_socket() && [0, own].contains(&found.uid()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn kept(variables: &[(&str, &str)], writable: &Writable) -> Vec<String> {
        let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        trusted(variables, writable).into_keys().collect()
    }

    #[test]
    fn variables_that_lead_to_where_commands_write_are_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let (work, home) = (root.join("work"), root.join("home"));
        for folder in [&work, &home] {
            std::fs::create_dir(folder).expect("a folder");
        }
        symlink(&work, home.join("link")).expect("a link");
        let _sockets =
            [&work, &home].map(|folder| UnixListener::bind(folder.join("tmux")).expect("a socket"));
        let writable = Writable::new([work.clone()]);
        let at = |folder: &Path, rest: &str| format!("{}{rest}", folder.display());
        let (tmux, own) = (at(&home, "/tmux,1,0"), at(&home, "/config"));
        assert_eq!(
            kept(
                &[("TMUX", &tmux), ("XDG_CONFIG_HOME", &own), ("DISPLAY", ":0"), ("PATH", "/bin")],
                &writable
            ),
            ["DISPLAY", "TMUX", "XDG_CONFIG_HOME"]
        );
        for (name, value) in [
            ("TMUX", at(&work, "/tmux,1,0")),
            ("TMUX", at(&home, "/link/tmux,1,0")),
            ("TMUX", at(&home, "/config,1,0")),
            ("TMUX", "tmux,1,0".to_owned()),
            ("XDG_CONFIG_HOME", at(&work, "/config")),
            ("XDG_CONFIG_HOME", at(&home, "/link")),
            ("XDG_DATA_DIRS", format!("/usr/share:{}", work.display())),
            ("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}/bus", work.display())),
            ("WAYLAND_DISPLAY", "../display".to_owned()),
        ] {
            assert_eq!(kept(&[(name, &value)], &writable), [""; 0], "{name}={value}");
        }
    }
}
