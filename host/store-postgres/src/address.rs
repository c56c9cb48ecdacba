//! The address of a database and the encryption of its connections.

use std::fmt::{self, Debug, Display, Formatter};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// Timeout for connecting to one host.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// Time that sent data may remain unacknowledged by the remote machine.
const SILENCE: Duration = Duration::from_secs(15);

/// Settings of an address that are left to the driver. Others could change where the connection leads without
/// changing its host, such as `hostaddr`, or how the server behaves, such as `options`.
const SETTINGS: [&str; 7] =
    ["user", "password", "dbname", "host", "port", "target_session_attrs", "load_balance_hosts"];

/// Address of a database in `libpq` syntax: `postgres://user@host:port/database`.
#[derive(Clone)]
pub struct Address {
    pub(crate) config: Config,
    pub(crate) encryption: Encryption,
}

/// Encryption of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// No encryption: the connection does not leave this machine.
    None,
    /// TLS with a verified host name. The certificate authorities are the system's, or those in this file.
    Verified(Option<PathBuf>),
}

/// Reason why an address is invalid or unavailable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AddressError(String);

impl Address {
    /// Parses an address. `sslmode` is `verify-full`, or `disable` for a database on this machine; the
    /// default follows from the host. `sslrootcert` is a file with the certificates of authorities.
    ///
    /// # Errors
    ///
    /// Returns a sentence that never contains the password.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        if !base.starts_with("postgres://") && !base.starts_with("postgresql://") {
            return Err(AddressError(
                "the address of a database begins with postgres://, such as \
                 postgres://user@db.example.com:5432/scorpiox"
                    .to_owned(),
            ));
        }
        let mut mode = None;
        let mut authorities = None;
        let mut rest = Vec::new();
        for setting in query.split('&').filter(|setting| !setting.is_empty()) {
            match setting.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => authorities = Some(PathBuf::from(value)),
                Some((name, _)) if SETTINGS.contains(&name) => rest.push(setting),
                _ => return Err(unknown(setting)),
            }
        }
        let whole = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
        let mut config: Config =
            whole.parse().map_err(|error| AddressError(format!("the address cannot be read: {error}")))?;
        if config.get_hosts().is_empty() {
            return Err(AddressError("the address names no host".to_owned()));
        }
        let is_local = config.get_hosts().iter().all(is_local);
        let encryption = match mode {
            Some("verify-full") => Encryption::Verified(authorities),
            Some("disable") if is_local => Encryption::None,
            Some("disable") => {
                return Err(AddressError(
                    "sslmode=disable would send all that is stored, and the password, through a network as they are; \
                     write verify-full"
                        .to_owned(),
                ));
            }
            Some(other) => {
                return Err(AddressError(format!(
                    "sslmode={other} does not make sure who answers; write verify-full, with sslrootcert for an \
                     authority of your own"
                )));
            }
            None if is_local && authorities.is_none() => Encryption::None,
            None => Encryption::Verified(authorities),
        };
        let ssl = if encryption == Encryption::None { SslMode::Disable } else { SslMode::Require };
        config
            .ssl_mode(ssl)
            .application_name("scorpiox-code")
            .connect_timeout(CONNECT_TIME)
            .tcp_user_timeout(SILENCE)
            .keepalives_idle(SILENCE);
        Ok(Self { config, encryption })
    }

    /// Returns the address with this password, which is never displayed.
    #[must_use]
    pub fn with_password(mut self, password: &[u8]) -> Self {
        self.config.password(password);
        self
    }

    /// Returns `true` if both addresses lead to the same database with the same role and password.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self.config == other.config && self.encryption == other.encryption
    }

    /// Creates the error for an address that cannot be read again.
    #[must_use]
    pub fn unavailable(why: String) -> AddressError {
        AddressError(why)
    }

    /// Returns `true` if the address has a password.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }
}

/// Returns the error for a setting that is not on the list, without its value, which may be a secret.
fn unknown(setting: &str) -> AddressError {
    let name = setting.split_once('=').map_or(setting, |(name, _)| name);
    AddressError(format!(
        "the address has the setting {name:?}; it can have sslmode, sslrootcert, {}",
        SETTINGS.join(", ")
    ))
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) if name == "localhost" => true,
        Host::Tcp(name) => name.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// Formats the address without the password.
impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        let ports = self.config.get_ports();
        for (at, host) in self.config.get_hosts().iter().enumerate() {
            let before = if at == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) => write!(f, "{before}{name}")?,
                #[cfg(unix)]
                Host::Unix(path) => write!(f, "{before}{}", path.display())?,
            }
            if let Some(port) = ports.get(at).or(ports.first()) {
                write!(f, ":{port}")?;
            }
        }
        if let Some(database) = self.config.get_dbname() {
            write!(f, "/{database}")?;
        }
        Ok(())
    }
}

impl Debug for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_the_machine_is_encrypted_and_checked() {
        let encryption = |text: &str| Address::parse(text).map(|address| address.encryption);
        let file = || Some(PathBuf::from("/etc/ca.pem"));
        for (text, expected) in [
            ("postgres://u@localhost/d", Encryption::None),
            ("postgres://u@127.0.0.2:1/d", Encryption::None),
            ("postgres://u@[::1]/d", Encryption::None),
            ("postgresql://u@%2Fvar%2Frun%2Fpostgresql/d", Encryption::None),
            ("postgres://u@localhost/d?sslmode=verify-full", Encryption::Verified(None)),
            ("postgres://u@db.example.com/d", Encryption::Verified(None)),
            ("postgres://u@localhost,db.example.com/d", Encryption::Verified(None)),
            ("postgres://u@db.example.com/d?sslrootcert=/etc/ca.pem", Encryption::Verified(file())),
            ("postgres://u@localhost/d?target_session_attrs=read-write", Encryption::None),
            ("postgres://localhost/d?host=db.example.com", Encryption::Verified(None)),
        ] {
            assert_eq!(encryption(text), Ok(expected), "{text}");
        }
        for text in [
            "postgres://u@db.example.com/d?sslmode=disable",
            "postgres://u@db.example.com/d?sslmode=require",
            "postgres://u@localhost,db.example.com/d?sslmode=disable",
            "postgres://u@localhost/d?hostaddr=192.0.2.2",
            "postgres://u@localhost/d?%68ostaddr=192.0.2.2",
            "postgres://u@localhost/d?target_session_attrs=any&options=-c%20search_path%3Dx",
            "postgres://u@localhost/d?hostaddr",
            "mysql://u@localhost/d",
            "postgres:///d",
            "localhost",
        ] {
            assert!(encryption(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_password_is_shown_to_nobody() {
        let address =
            Address::parse("postgres://ann:hidden@db.example.com:6543,other/state").expect("an address");
        assert!(address.has_password());
        assert_eq!(
            format!("{address}, {address:?}"),
            "postgres://ann@db.example.com:6543,other:5432/state, postgres://ann@db.example.com:6543,other:5432/state"
        );
        let error = Address::parse("postgres://ann:hidden@db:no/state").expect_err("no port");
        assert!(!error.to_string().contains("hidden"), "{error}");
    }
}
