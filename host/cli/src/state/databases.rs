//! Databases used by a process.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use scorpiox_policy::DatabasePolicy;
use scorpiox_store::StoreError;
use scorpiox_store_postgres::{Address, Database, Options};
use scorpiox_workspace_config::{MAX_PASSWORD_BYTES, Operator, one_password, read_secret, written_path};

/// Password of the database, for a policy that does not name a password file.
#[derive(Debug, Clone, Default)]
pub struct PasswordFrom {
    /// The password, from an environment variable.
    pub value: Option<String>,
    /// Path of a file that contains the password.
    pub file: Option<PathBuf>,
}

/// Databases of a process, with their connections.
#[derive(Debug, Default)]
pub struct Databases {
    password: PasswordFrom,
    opened: Mutex<Vec<(DatabasePolicy, Arc<Database>)>>,
}

impl Databases {
    /// Creates the collection. `password` is used if the policy names no password file.
    pub fn new(password: PasswordFrom) -> Arc<Self> {
        Arc::new(Self { password, opened: Mutex::default() })
    }

    /// Returns the database of the operator's policy, or `None` if the policy selects local files.
    ///
    /// # Errors
    ///
    /// Returns an error if the policy cannot be used, the address is invalid, or the password cannot be read.
    pub fn chosen(&self, operator: &Arc<Operator>) -> Result<Option<Arc<Database>>, StoreError> {
        let policy = operator.server_policy().map_err(|error| StoreError::Other(error.to_string()))?;
        let Some(wanted) = &policy.store.database else { return Ok(None) };
        let mut opened = self.opened.lock();
        if let Some((_, database)) = opened.iter().find(|(policy, _)| policy == wanted) {
            return Ok(Some(Arc::clone(database)));
        }
        let told = |why: String| {
            StoreError::Other(format!("[store] of the policy ({}): {why}", wanted.address.source))
        };
        let address = address_of(operator, wanted, &self.password).map_err(told)?;
        let options = Options { connections: wanted.connections.value, migrates: wanted.migrate.value };
        let (reading, again, from) = (Arc::clone(operator), wanted.clone(), self.password.clone());
        let reload = move || address_of(&reading, &again, &from).map_err(Address::unavailable);
        let database = Database::reloading(address, Some(Box::new(reload)), options);
        opened.push((wanted.clone(), Arc::clone(&database)));
        Ok(Some(database))
    }
}

/// Returns the address of a database, with the current password.
fn address_of(operator: &Operator, wanted: &DatabasePolicy, from: &PasswordFrom) -> Result<Address, String> {
    let address = Address::parse(&wanted.address.value).map_err(|error| error.to_string())?;
    Ok(match password(operator, wanted, from)? {
        Some(password) => address.with_password(password.as_bytes()),
        None => address,
    })
}

/// Returns the password: from the policy's file, else from the environment variable, else from the file that
/// a variable names.
fn password(
    operator: &Operator,
    wanted: &DatabasePolicy,
    from: &PasswordFrom,
) -> Result<Option<String>, String> {
    let site = operator.site();
    let file = match (&wanted.password_file, from) {
        (Some(path), _) => written_path(&path.value, site.home.as_deref())?,
        (None, PasswordFrom { value: Some(password), .. }) => return Ok(Some(password.clone())),
        (None, PasswordFrom { file: Some(path), .. }) => path.clone(),
        (None, _) => return Ok(None),
    };
    let writable = operator.writable().map_err(|error| error.to_string())?;
    let told = |why: String| format!("the password of the database: {why}");
    let bytes = read_secret(&file, &writable, MAX_PASSWORD_BYTES).map_err(told)?;
    one_password(bytes).map(Some).map_err(|why| told(format!("{}: {why}", file.display())))
}
