//! `[plugins.registries."HOST"]`: credentials for a plugin registry.
//!
//! Invariant: a policy contains no secret. It names the location of the secret. The code that reads this
//! location checks who else can read or write it.

use std::fmt;

/// Login for one registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryLogin {
    /// Source of the user name and the password.
    pub credentials: CredentialsFrom,
    /// Host, with an optional port, that also receives the credentials: the registry's token server.
    pub token_host: Option<String>,
}

/// Source of a user name and a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialsFrom {
    /// Password in a file, whose path is absolute or begins with `~/`.
    File {
        /// User name.
        user: String,
        /// Path of the file.
        path: String,
    },
    /// Password printed by a program.
    Command {
        /// User name.
        user: String,
        /// Program, with a path that is absolute or begins with `~/`, and its arguments.
        command: Vec<String>,
    },
    /// Credentials that `docker login` stored for this registry.
    Docker,
}

impl fmt::Display for CredentialsFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, .. } => write!(f, "password_file {path}"),
            Self::Command { command, .. } => {
                write!(f, "command {}", command.first().map_or("", String::as_str))
            }
            Self::Docker => f.write_str("docker's configuration"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::rule::{Layer, Places};

    use super::*;
    use crate::{Policy, render};

    fn read(text: &str) -> Result<Policy, String> {
        Policy::parse(&format!("version = 1\n{text}"), Path::new("policy.toml"))
            .map_err(|problem| problem.to_string())
    }

    fn logins(policy: &Policy) -> Vec<(&str, &RegistryLogin)> {
        policy.plugins.registries.iter().map(|(host, login)| (host.as_str(), &login.value)).collect()
    }

    #[test]
    fn a_registry_has_a_user_with_a_file_or_a_command_or_what_docker_has() {
        let policy = read(
            "[plugins.registries.\"Registry.example.com:5000\"]\nuser = \"me\"\npassword_file = \"~/key\"\n\
             token_host = \"auth.example.com\"\n\
             [plugins.registries.\"b.example.com\"]\nuser = \"AWS\"\ncommand = [\"/usr/bin/aws\", \"ecr\"]\n\
             [plugins.registries.\"[::1]:5000\"]\ncredentials = \"docker\"",
        )
        .unwrap();
        let file = CredentialsFrom::File { user: "me".to_owned(), path: "~/key".to_owned() };
        let command = vec!["/usr/bin/aws".to_owned(), "ecr".to_owned()];
        let command = CredentialsFrom::Command { user: "AWS".to_owned(), command };
        let login = |credentials, token_host: Option<&str>| RegistryLogin {
            credentials,
            token_host: token_host.map(str::to_owned),
        };
        assert_eq!(
            logins(&policy),
            [
                ("[::1]:5000", &login(CredentialsFrom::Docker, None)),
                ("b.example.com", &login(command, None)),
                ("registry.example.com:5000", &login(file, Some("auth.example.com"))),
            ]
        );
        let shown = render(&policy);
        let again = Policy::parse(&shown, Path::new("policy.toml")).unwrap();
        assert_eq!(logins(&again), logins(&policy), "{shown}");
    }

    #[test]
    fn a_table_that_says_no_place_or_more_than_one_is_refused() {
        for (lines, why) in [
            ("", "says nothing of a password; write one of `password_file"),
            ("user = \"me\"", "says nothing of a password"),
            ("password_file = \"/k\"", "has no `user`; write `user = \"NAME\"`"),
            ("user = \"m:e\"\npassword_file = \"/k\"", "has a colon"),
            ("user = \"\"\npassword_file = \"/k\"", "is empty"),
            ("user = \"me\"\npassword_file = \"k\"", "is \"k\"; write a path that begins with / or ~/"),
            ("user = \"me\"\npassword = \"x\"", "unknown key `password`"),
            (
                "user = \"me\"\npassword_file = \"/k\"\ncommand = [\"/x\"]",
                "more than one place for a password",
            ),
            ("user = \"me\"\ncommand = []", "is empty"),
            ("user = \"me\"\ncommand = [\"pass\"]", "begins with \"pass\", which is no whole path"),
            ("user = \"me\"\ncommand = \"pass\"", "is the string"),
            ("credentials = \"podman\"", "unknown word \"podman\""),
            ("user = \"me\"\ncredentials = \"docker\"", "have a user of their own"),
            ("credentials = \"docker\"\ntoken_host = \"https://a\"", "is \"https://a\""),
            ("credentials = \"docker\"\ntoken_host = \"*.example.com\"", "is \"*.example.com\""),
        ] {
            let error = read(&format!("[plugins.registries.\"r.example.com\"]\n{lines}")).expect_err(lines);
            assert!(error.contains(why), "{lines}: {error}");
        }
        for host in ["", "https://r.example.com", "r.example.com/x", "*", "a:b:c", "a:0", "a:70000", "[x]:1"]
        {
            let error =
                read(&format!("[plugins.registries.\"{host}\"]\ncredentials = \"docker\"")).expect_err(host);
            assert!(error.contains("is not a host"), "{host}: {error}");
        }
    }

    #[test]
    fn what_is_set_for_all_users_is_nobodys_to_change() {
        let table = |host: &str, user: &str| {
            format!("[plugins.registries.\"{host}\"]\nuser = \"{user}\"\npassword_file = \"/k\"\n")
        };
        let managed = format!("version = 1\n{}", table("a.example.com", "team"));
        let own = format!("version = 1\n{}{}", table("a.example.com", "me"), table("b.example.com", "me"));
        let path = Path::new("policy.toml");
        let places = Places::standard("/w".into(), Some("/h".into()), Path::new("/h/.scorpiox"));
        let all = crate::parse::policy(&managed, path, Layer::Any, Policy::builtin()).unwrap();
        let person = crate::parse::policy(&own, path, Layer::Own, all.clone()).unwrap();
        let both = all.narrowed_by(&person, &places);
        let users: Vec<_> = logins(&both)
            .into_iter()
            .map(|(host, login)| match &login.credentials {
                CredentialsFrom::File { user, .. } => (host, user.as_str()),
                other => panic!("{other}"),
            })
            .collect();
        assert_eq!(users, [("a.example.com", "team"), ("b.example.com", "me")]);
    }
}
