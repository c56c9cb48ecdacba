//! Who records: the user, the machine, and the policy in use. Asked for by the first line.

use std::fs;

use scorpiox_audit::{BUILT_IN, Origin, Record, Recorder, RuleTexts};
use scorpiox_operator::Operator;
use scorpiox_paths::{account_id, account_name};

/// The machine's name, on Linux.
const MACHINE: &str = "/proc/sys/kernel/hostname";

/// What all lines of this process have in common.
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

/// Returns the texts of the policy in use, by the names that its rules have for them.
pub fn rule_texts(operator: &Operator) -> RuleTexts {
    let texts = operator.loaded().map(|loaded| loaded.texts.clone()).unwrap_or_default();
    RuleTexts::new(texts.into_iter().map(|(layer, text)| (layer.file().to_owned(), text)))
}

/// Returns a line's user and machine, as those of this account have them.
pub fn account() -> Record {
    let user = account_name().unwrap_or_default();
    Record { user, uid: Some(account_id()), machine: machine(), ..Record::default() }
}

/// The machine's name; empty where the system does not say.
pub fn machine() -> String {
    fs::read_to_string(MACHINE).unwrap_or_default().trim().to_owned()
}

/// The hash of the policy that was read; a word where there is no file, or none that can be used.
fn policy_in_use(operator: &Operator) -> &str {
    match operator.loaded() {
        Ok(loaded) if loaded.files.is_empty() => BUILT_IN,
        Ok(loaded) => &loaded.hash,
        Err(_) => "unusable",
    }
}
