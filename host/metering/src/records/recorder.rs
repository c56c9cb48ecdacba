//! User, machine, and policy of this process. Determined for the first line.

use std::fs;

use scorpiox_audit::{BUILT_IN, Origin, Record, Recorder, RuleTexts};
use scorpiox_fs::{account_id, account_name};
use scorpiox_workspace_config::Operator;

/// File that contains the host name on Linux.
const MACHINE: &str = "/proc/sys/kernel/hostname";

/// Returns the members common to all lines of this process.
pub(super) fn origin(workspace: &str, operator: &Operator) -> Origin {
    let user = account_name();
    let machine = machine();
    Origin::new(&Recorder {
        user: user.as_deref().unwrap_or_default(),
        uid: account_id(),
        machine: &machine,
        workspace,
        policy: policy_in_use(operator),
    })
    .citing(rule_texts(operator))
}

/// Returns the texts of the policy in use, keyed by the file names that rules cite.
pub fn rule_texts(operator: &Operator) -> RuleTexts {
    let texts = operator.loaded().map(|loaded| loaded.texts.clone()).unwrap_or_default();
    RuleTexts::new(texts.into_iter().map(|(layer, text)| (layer.file().to_owned(), text)))
}

/// Returns a record with the user and machine of this account, as lines contain them.
pub fn account() -> Record {
    let user = account_name().unwrap_or_default();
    Record { user, uid: Some(account_id()), machine: machine(), ..Record::default() }
}

/// Returns the host name; empty if unknown.
pub fn machine() -> String {
    fs::read_to_string(MACHINE).unwrap_or_default().trim().to_owned()
}

/// Returns the hash of the loaded policy, or a keyword if there is no policy file or it is unusable.
pub fn policy_in_use(operator: &Operator) -> &str {
    match operator.loaded() {
        Ok(loaded) if loaded.unusable_repository.is_some() => "unusable",
        Ok(loaded) if loaded.files.is_empty() => BUILT_IN,
        Ok(loaded) => &loaded.hash,
        Err(_) => "unusable",
    }
}
