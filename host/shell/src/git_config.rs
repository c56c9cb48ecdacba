//! Explains messages of git about a repository's configuration, which commands cannot write: git goes on without it, or
//! stops halfway, and does not say which.

/// Message about a configuration that could not be written, without its first letter. Git gives a reason with some
/// commands only.
pub(super) const LOCK: &str = "ould not lock config file ";
/// Message after a branch was deleted, renamed or copied, without its settings.
pub(super) const UPDATE: &str = "pdate of config-file failed";
/// Message after a branch was created or pushed.
pub(super) const UPSTREAM: &str = "nable to write upstream branch configuration";
/// Reason of another program that writes the configuration at the time.
const BUSY: &str = ": File exists";

const NO_UPSTREAM: &str = "git: commands cannot write the repository's configuration, so git recorded no upstream branch; leave out `-u`, `--track` and \
     `--set-upstream-to`: `git push origin NAME`, `git switch --no-track -c NAME origin/NAME`; if git stopped while it \
     switched to a new branch, `git switch NAME` finishes that";
const RENAMED: &str = "git: the branch was renamed; commands cannot write the repository's configuration, where its settings, if it has any, \
     keep the old name";
const COPIED: &str = "git: the branch was copied; commands cannot write the repository's configuration, where the copy has no settings";
const DELETED: &str = "git: the branch was deleted; commands cannot write the repository's configuration, where its settings, if it has any, \
     stay";

/// Returns `true` for the message that a configuration was not written because the command may not.
pub(super) fn is_refused(line: &str) -> bool {
    line.contains(LOCK) && !line.contains(BUSY)
}

/// Returns the path in such a message.
pub(super) fn refused(line: &str) -> Option<&str> {
    let (_, path) = line.split_once(LOCK).filter(|_| is_refused(line))?;
    Some(path.split(": ").next().unwrap_or(path).trim())
}

/// Returns sentences about consequences, if git says in these lines that it could not write a configuration.
pub(super) fn sentences(lines: &[String]) -> Vec<&'static str> {
    if !lines.iter().any(|line| is_refused(line)) {
        return Vec::new();
    }
    let consequence = |line: &String| match &**line {
        line if line.contains(UPSTREAM) => Some(NO_UPSTREAM),
        line if !line.contains(UPDATE) => None,
        line if line.contains("renamed") => Some(RENAMED),
        line if line.contains("copied") => Some(COPIED),
        _ => Some(DELETED),
    };
    let mut sentences: Vec<_> = lines.iter().filter_map(consequence).collect();
    sentences.sort_unstable();
    sentences.dedup();
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_the_rest_of_the_message() {
        for (line, expected) in [
            ("error: could not lock config file .git/config: Permission denied", Some(".git/config")),
            ("error: could not lock config file a b/config", Some("a b/config")),
            ("error: could not lock config file .git/config: File exists", None),
            ("could not read", None),
        ] {
            assert_eq!(refused(line), expected, "{line}");
        }
    }

    #[test]
    fn each_consequence_has_its_sentence() {
        let of = |text: &str| sentences(&text.lines().map(str::to_owned).collect::<Vec<_>>());
        let refused = "error: could not lock config file .git/config";
        for (after, sentence) in [
            ("error: unable to write upstream branch configuration", NO_UPSTREAM),
            ("fatal: branch is renamed, but update of config-file failed", RENAMED),
            ("fatal: branch is copied, but update of config-file failed", COPIED),
            ("warning: update of config-file failed", DELETED),
        ] {
            assert_eq!(of(&format!("{refused}: Permission denied\n{after}")), [sentence]);
            assert_eq!(of(&format!("{refused}\n{after}\n{after}")), [sentence]);
            assert_eq!(of(&format!("{refused}: File exists\n{after}")), [""; 0]);
            assert_eq!(of(after), [""; 0]);
        }
        assert_eq!(of(&format!("{refused}: Permission denied\nfatal: could not set 'a.b' to 'c'")), [""; 0]);
    }
}
