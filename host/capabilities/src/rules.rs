//! Finds the rule that decided about a use, as an audit record names it.
//!
//! These functions repeat the policy's decisions to find their sources. The decisions themselves are made
//! elsewhere and do not depend on the results.

use std::path::{Path, PathBuf};

use scorpiox_audit::{APPROVAL, BUILT_IN};
use scorpiox_policy::{DenySet, FilesPolicy, HostRule, Places, WebPolicy, WebVerdict, covers};

/// Returns the rule for a file: either the rule that denies it, or the rule that allows its folder. `granted`
/// are folders that are allowed in addition to those of the policy.
pub fn of_file(policy: &FilesPolicy, path: &Path, granted: &[PathBuf], places: &Places) -> String {
    if let Some(outer) = &policy.outer
        && outer.check(path, places).is_err()
    {
        return of_file(outer, path, granted, places);
    }
    let read = policy
        .read
        .iter()
        .flat_map(|rule| places.folders(&rule.place).into_iter().map(move |folder| (folder, &rule.source)));
    let read: Vec<_> = read.collect();
    let own = read.iter().map(|(folder, _)| folder.clone()).chain([places.workspace.clone()]);
    let folders: Vec<_> = own.chain(granted.iter().cloned()).collect();
    if let Some(rule) = DenySet::new(&policy.deny, &folders, places).matches(path) {
        return rule.source.to_string();
    }
    if granted.iter().any(|folder| path.starts_with(folder)) {
        return APPROVAL.to_owned();
    }
    let around = read.iter().filter(|(folder, _)| path.starts_with(folder));
    let rule = around.max_by_key(|(folder, _)| folder.as_os_str().len());
    rule.map_or(&policy.read_origin, |(_, source)| source).to_string()
}

/// Returns the rule for a host. `only` restricts what the policy allows. If the name alone is not decisive,
/// the host's addresses are.
pub fn of_host(
    policy: &WebPolicy,
    only: Option<&[HostRule]>,
    (host, port): (&str, u16),
    decided: Result<(), &str>,
) -> String {
    if only.is_some_and(|only| !covers(only, host, port)) {
        return APPROVAL.to_owned();
    }
    match (policy.check_host(host, port), decided) {
        (Ok(WebVerdict::Allowed(rule)), Ok(())) => rule.source.to_string(),
        (Ok(WebVerdict::ByAddress), Ok(())) => policy.allow_origin.to_string(),
        (Ok(_), Err(why)) => named(why).map_or_else(|| policy.private_origin.to_string(), str::to_owned),
        (Err(denial), _) => named(&denial.to_string()).unwrap_or(BUILT_IN).to_owned(),
    }
}

/// Extracts the rule that a denial of the policy names in parentheses. A denial that begins with a quoted
/// invalid host comes from the program itself, regardless of the text in quotes.
fn named(why: &str) -> Option<&str> {
    if why.starts_with('"') {
        return None;
    }
    let is_rule = |text: &str| {
        let line = text.rsplit_once(" line ").map(|(_, line)| line);
        text == BUILT_IN
            || line.is_some_and(|line| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let inside = |(at, _)| why[at + 1..].split_once(')').map(|(inside, _)| inside);
    why.rmatch_indices('(').filter_map(inside).find(|text| is_rule(text))
}

#[cfg(test)]
mod tests {
    use scorpiox_policy::Policy;

    use super::*;

    fn policy(text: &str) -> Policy {
        Policy::parse(&format!("version = 1\n{text}"), Path::new("policy.toml")).expect("a policy")
    }

    #[test]
    fn a_file_has_the_rule_that_closes_it_or_opens_its_folder() {
        let places = Places::standard("/h/w".into(), Some("/h".into()), Path::new("/h/.own"));
        let files =
            policy("[files]\nread = [\"@workspace\",\n\"~/Pictures\"]\ndeny = [\"**/private\"]").files;
        for (path, rule) in [
            ("/h/w/a.png", "policy.toml line 3"),
            ("/h/Pictures/a.png", "policy.toml line 4"),
            ("/h/w/private/a", "policy.toml line 5"),
            ("/h/g/a.png", APPROVAL),
            ("/h/g/private", "policy.toml line 5"),
        ] {
            assert_eq!(of_file(&files, Path::new(path), &["/h/g".into()], &places), rule, "{path}");
        }
        assert_eq!(of_file(&files, Path::new("/etc/passwd"), &[], &places), files.read_origin.to_string());
        let builtin = Policy::builtin().files;
        assert_eq!(of_file(&builtin, Path::new("/h/w/.env"), &[], &places), BUILT_IN);
    }

    #[test]
    fn a_host_has_the_rule_that_decides_and_no_other() {
        let web = policy("[web]\nallow = [\"good.example\",\n\"10.0.0.0/8\"]\ndeny = [\"bad.example\"]").web;
        let rule = |host, decided| of_host(&web, None, (host, 443), decided);
        assert_eq!(rule("good.example", Ok(())), "policy.toml line 3");
        assert_eq!(rule("bad.example", Err("denied")), "policy.toml line 5");
        assert_eq!(rule("other.example", Ok(())), web.allow_origin.to_string());
        let by_address = "x (10.0.0.1) is denied by \"10.0.0.0/8\" in `deny` of [web] (policy.toml line 7)";
        assert_eq!(rule("good.example", Err(by_address)), "policy.toml line 7");
        assert_eq!(rule("good.example", Err("is an address (of a private network)")), BUILT_IN);
        // A host name that looks like a rule.
        assert_eq!(rule("x (policy.toml line 9)", Err("whatever")), BUILT_IN);
        assert_eq!(of_host(&web, Some(&[]), ("good.example", 443), Err("x")), APPROVAL);
        let managed = "x is denied by \"x\" in `deny` of [web] (/etc/scorpiox/policy.toml line 12)";
        assert_eq!(named(managed), Some("/etc/scorpiox/policy.toml line 12"));
    }
}
