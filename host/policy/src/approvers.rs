//! `[approvers.NAME]`: people whose signatures answer questions of rules.
//!
//! The server verifies an answer with a public key in the policy. The secret key of `key`, with its password, never
//! reaches the server, so that neither a model nor a program of the user can answer for an approver. That of
//! `credential` reaches it in a form, signs one answer, and is not kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use scorpiox_signature::{PublicKey, Signature};

use crate::call_rules::{CallRule, CallRules, Channel};
use crate::document::{Entry, Page, Problem, Section, quote};
use crate::rule::{Source, Sourced, shorten};

/// Maximum number of approvers of a file.
const MAX_APPROVERS: usize = 64;
/// Maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 32;
/// Maximum length of the name of a principal, in characters.
const MAX_PRINCIPAL_CHARS: usize = 256;

/// Says how a `credential` is written.
const CREDENTIAL_FIX: &str =
    "write `credential = \"RW…\"`, as `scorpiox-code approvals keygen NAME --browser` prints it";

/// A person who may answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approver {
    /// Key that verifies the answers that the person signs with a command.
    pub key: Option<Arc<PublicKey>>,
    /// Key that verifies the answers that the person gives in a browser.
    pub credential: Option<Arc<PublicKey>>,
    /// Name of the person as a caller over HTTP, whose own calls the person does not approve.
    pub principal: Option<String>,
}

impl Approver {
    /// Returns the key that verifies a signature over these bytes.
    pub fn verifies(&self, bytes: &[u8], signature: &Signature) -> Option<ApproverKey> {
        let signed = |key: &Option<Arc<PublicKey>>| {
            key.as_ref().is_some_and(|key| key.verify(bytes, signature).is_ok())
        };
        let credential = || signed(&self.credential).then_some(ApproverKey::Credential);
        signed(&self.key).then_some(ApproverKey::Key).or_else(credential)
    }

    fn keys(&self) -> impl Iterator<Item = &Arc<PublicKey>> {
        self.key.iter().chain(&self.credential)
    }
}

/// Kind of key that an approver signs with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApproverKey {
    /// `key`: the secret key is on the approver's machine.
    Key,
    /// `credential`: the approver enters it in a browser.
    Credential,
}

/// All approvers, by name.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Approvers(BTreeMap<String, Sourced<Approver>>);

impl Approvers {
    /// Returns all approvers, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Sourced<Approver>)> {
        self.0.iter().map(|(name, approver)| (name.as_str(), approver))
    }

    /// Returns the approver of that name.
    pub fn get(&self, name: &str) -> Option<&Sourced<Approver>> {
        self.0.get(name)
    }

    /// Returns the approvers that both policies have.
    pub(crate) fn meet(&self, other: &Self) -> Self {
        let is_in_both = |(name, approver): &(&String, &Sourced<Approver>)| {
            other.0.get(*name).is_some_and(|known| known.value == approver.value)
        };
        let both = self.0.iter().filter(is_in_both);
        Self(both.map(|(name, approver)| (name.clone(), approver.clone())).collect())
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn render(&self, page: &mut Page) {
        for (name, Sourced { value, source }) in &self.0 {
            page.header(&format!("approvers.{name}"), *source);
            for (name, key) in [("key", &value.key), ("credential", &value.credential)] {
                if let Some(key) = key {
                    page.line(&format!("{name} = {}", quote(key.as_str())), *source);
                }
            }
            if let Some(principal) = &value.principal {
                page.line(&format!("principal = {}", quote(principal)), *source);
            }
        }
    }
}

/// Parses `[approvers]`. A user cannot replace an approver of the administrator.
pub(crate) fn read(section: &Section<'_>, approvers: &mut Approvers) -> Result<(), Problem> {
    for (at, (name, entry)) in section.entries().enumerate() {
        if at == MAX_APPROVERS {
            let what = format!("{} has more than {MAX_APPROVERS} approvers", section.name());
            return Err(entry.problem(what, "remove some"));
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(plain) {
            let what = format!("approver \"{}\" is not a valid name", shorten(name));
            return Err(entry.problem(what, "write 1 to 32 small letters, digits and hyphens"));
        }
        let approver = approver(&entry.section(&section.child(name))?, &entry)?;
        let shares = |known: &Approver| approver.keys().any(|key| known.keys().any(|other| other == key));
        let twin = approvers.0.iter().find(|(other, known)| *other != name && shares(&known.value));
        if let Some((twin, known)) = twin {
            let what = format!("approver \"{name}\" has the key of \"{twin}\" ({})", known.source);
            return Err(entry.problem(what, "give each approver a key of their own"));
        }
        match approvers.0.get(name) {
            Some(known) if known.value == approver => {}
            Some(known) => {
                let what = format!("approver \"{name}\" is another one in {}", known.source);
                return Err(entry.problem(what, "give yours another name"));
            }
            None => {
                approvers.0.insert(name.to_owned(), Sourced::new(approver, entry.key_source()));
            }
        }
    }
    Ok(())
}

fn approver(section: &Section<'_>, entry: &Entry<'_>) -> Result<Approver, Problem> {
    section.only(&["key", "credential", "principal"])?;
    let fix = "write `key = \"RW…\"`, as `scorpiox-code approvals keygen` prints it";
    let (key, credential) = (key(section, "key", fix)?, key(section, "credential", CREDENTIAL_FIX)?);
    match (&key, &credential) {
        (None, None) => {
            return Err(entry.problem(format!("{} has neither `key` nor `credential`", section.name()), fix));
        }
        (Some(key), Some(credential)) if key == credential => {
            let what = format!("{} has the same `key` and `credential`", section.name());
            return Err(entry.problem(what, CREDENTIAL_FIX));
        }
        _ => {}
    }
    let fix = "write the name of a caller over HTTP";
    let principal = section.get("principal").map(|entry| {
        let text = entry.text(fix)?;
        let chars = text.chars().count();
        if !(1..=MAX_PRINCIPAL_CHARS).contains(&chars) || text.contains(char::is_control) {
            return Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(text)), fix));
        }
        Ok(text.to_owned())
    });
    Ok(Approver { key, credential, principal: principal.transpose()? })
}

/// Parses a public key.
fn key(section: &Section<'_>, name: &str, fix: &str) -> Result<Option<Arc<PublicKey>>, Problem> {
    let Some(entry) = section.get(name) else { return Ok(None) };
    let text = entry.text(fix)?;
    let public = PublicKey::parse(text).map_err(|error| {
        entry.problem(format!("{} is \"{}\": {error}", entry.label(), shorten(text)), fix)
    })?;
    Ok(Some(Arc::new(public)))
}

/// Returns a rule of the administrator that nobody could answer, with the reason.
pub(crate) fn unanswerable<'a>(
    rules: &'a CallRules,
    approvers: &Approvers,
) -> Option<(&'a CallRule, String)> {
    let mut strong = rules.0.iter().filter(|rule| {
        rule.may_ask() && rule.channel == Channel::Strong && matches!(rule.source, Source::Managed(_))
    });
    let rule = strong.find(|rule| rule.answered_by(approvers, None).next().is_none())?;
    let why = match rule.who.as_slice() {
        [] => "there is no [approvers.NAME] with a key that proves an answer".to_owned(),
        who => format!("none of \"{}\" is in [approvers]", who.join("\", \"")),
    };
    Some((rule, why))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::rule::Layer;
    use crate::{Channel, Policy};

    const KEY: &str = "RWTCF1j5TF+pmO92a9YVjktSWzXPfzT3ugK0UQkS8m9fBeN0IdALk1ev";
    const OTHER: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    const ASKS: &str = "[[rules]]\nname = \"a\"\ntools = [\"Bash\"]\nthen = \"ask\"\n";

    fn parse(layer: Layer, text: &str, base: Policy) -> Result<Policy, String> {
        let text = format!("version = 1\n{text}");
        crate::parse::policy(&text, Path::new("policy.toml"), layer, base)
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn an_administrators_rule_needs_an_approver_unless_it_accepts_weak_answers() {
        let managed = |text: &str| parse(Layer::Managed, text, Policy::builtin());
        let problem = managed(ASKS).expect_err("nobody can answer");
        assert!(problem.contains("line 2") && problem.contains("[approvers.NAME]"), "{problem}");
        let approver = format!("[approvers.ann]\nkey = \"{KEY}\"\n");
        let policy = managed(&format!("{ASKS}{approver}")).expect("it works");
        assert_eq!(policy.calls.0[0].channel, Channel::Strong);
        let problem = managed(&format!("{ASKS}who = [\"bob\"]\n{approver}")).expect_err("bob is nobody");
        assert!(problem.contains("\"bob\""), "{problem}");
        let weak = managed(&format!("{ASKS}channel = \"weak\"\n")).expect("it works");
        assert_eq!(weak.calls.0[0].channel, Channel::Weak);
    }

    #[test]
    fn a_user_answers_no_rule_of_the_administrator_and_replaces_no_approver() {
        let approver = format!("[approvers.ann]\nkey = \"{KEY}\"\n");
        let managed =
            parse(Layer::Managed, &format!("{ASKS}{approver}"), Policy::builtin()).expect("it works");
        let other = OTHER;
        let mine = format!("[approvers.eve]\nkey = \"{other}\"\n");
        let both = parse(Layer::Own, &mine, managed.clone()).expect("it works");
        let rule = &both.calls.0[0];
        let names: Vec<_> = rule.answered_by(&both.approvers, None).map(|(name, _)| name).collect();
        assert_eq!(names, ["ann"]);
        let replaced = format!("[approvers.ann]\nkey = \"{other}\"\n");
        let problem = parse(Layer::Own, &replaced, managed).expect_err("ann is the administrator's");
        assert!(problem.contains("is another one in"), "{problem}");
    }

    #[test]
    fn over_http_a_proof_is_needed_unless_callers_approve_their_own_calls() {
        let own =
            |text: &str| parse(Layer::Own, text, Policy::builtin()).expect("it works").calls.0.remove(0);
        let (rule, itself) = (own(ASKS), own(&format!("{ASKS}self = true\n")));
        assert_eq!([rule.channel_for(false), rule.channel_for(true)], [Channel::Weak, Channel::Strong]);
        assert_eq!(itself.channel_for(true), Channel::Weak);
        let who = own(&format!("{ASKS}who = [\"ann\"]\nself = true\n"));
        assert_eq!(who.channel_for(true), Channel::Strong);
    }

    #[test]
    fn rendered_approvers_and_rules_parse_to_the_same() {
        let approver = format!(
            "[approvers.ann]
key = \"{KEY}\"
credential = \"{OTHER}\"
principal = \"ann@example.com\"
"
        );
        let rule = format!(
            "{ASKS}who = [\"ann\"]
within = \"2h\"
remember = [\"workspace\", \"session\"]
"
        );
        let text = format!("{rule}{approver}");
        let policy = parse(Layer::Any, &text, Policy::builtin()).expect("it works");
        let shown = crate::render(&policy);
        let again =
            crate::parse::policy(&shown, Path::new("p"), Layer::Any, Policy::builtin()).expect("it works");
        assert_eq!((again.calls, again.approvers), (policy.calls, policy.approvers));
    }

    #[test]
    fn an_approver_has_a_key_or_a_credential_of_their_own() {
        let own = |text: &str| parse(Layer::Own, text, Policy::builtin());
        let policy = own(&format!("[approvers.ann]\ncredential = \"{KEY}\"\n")).expect("it works");
        let ann = &policy.approvers.get("ann").expect("ann").value;
        assert!(ann.key.is_none() && ann.credential.is_some());
        for (text, expected) in [
            (
                "[approvers.ann]\nprincipal = \"x\"\n".to_owned(),
                "line 2: [approvers.ann] has neither `key` nor `credential`",
            ),
            (
                format!("[approvers.ann]\nkey = \"{KEY}\"\ncredential = \"{KEY}\"\n"),
                "line 2: [approvers.ann] has the same",
            ),
            (
                "[approvers.ann]\ncredential = \"RW\"\n".to_owned(),
                "line 3: `credential` in [approvers.ann] is \"RW\"",
            ),
            ("[approvers.ann]\ncredential = 1\n".to_owned(), "approvals keygen NAME --browser"),
            (
                format!("[approvers.ann]\nkey = \"{KEY}\"\n[approvers.bob]\ncredential = \"{KEY}\"\n"),
                "line 4: approver \"bob\" has the key of \"ann\"",
            ),
        ] {
            let problem = own(&text).expect_err(&text);
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
