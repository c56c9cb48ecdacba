//! Allowlist of git configuration keys that start no program.
//!
//! Invariant: a key that is not listed may contain a command. This includes keys of future versions of git
//! and of related programs.

use crate::parse::Entry;

/// Matches any key of a section.
const ALL: &str = "*";

/// Keys by section, in lowercase, whose values may be anything. Taken from `git-config(1)`, without keys that
/// name programs, tools, helpers, hooks, other configurations or output files, and without keys that disable
/// a check.
const ANY: &[(&str, &str)] = &[
    ("add", "ignoreerrors"),
    ("advice", ALL),
    ("am", "keepcr threeway messageid"),
    ("apply", "ignorewhitespace whitespace"),
    ("attr", "tree"),
    ("author", "name email"),
    ("bitmappseudomerge", ALL),
    (
        "blame",
        "blankboundary coloring date ignorerevsfile markignoredlines markunblamablelines showemail showroot",
    ),
    (
        "branch",
        "autosetupmerge autosetuprebase base description gh-merge-base github-pr-owner-number merge rebase sort \
         vscode-merge-base",
    ),
    ("checkout", "defaultremote guess thresholdforparallelism workers"),
    ("clone", "defaultremotename filtersubmodules rejectshallow"),
    ("color", ALL),
    ("column", ALL),
    ("commit", "cleanup gpgsign status template verbose"),
    ("commitgraph", ALL),
    ("committer", "name email"),
    ("completion", "commands"),
    (
        "core",
        "abbrev autocrlf bare bigfilethreshold checkroundtripencoding checkstat commentchar \
         commentstring commitgraph compression createobject deltabasecachelimit disambiguate eol excludesfile filemode \
         filesreflocktimeout fscache fsmonitorhookversion fsync fsyncmethod fsyncobjectfiles hidedotfiles ignorecase \
         ignorestat logallrefupdates longpaths loosecompression maxtreedepth multipackindex notesref packedgitlimit \
         packedgitwindowsize packedrefstimeout precomposeunicode prefersymlinkrefs preloadindex quotepath \
         repositoryformatversion restrictinheritedhandles safecrlf sharedrepository sparsecheckout sparsecheckoutcone \
         splitindex symlinks trustctime untrackedcache usereplacerefs warnambiguousrefs whitespace",
    ),
    ("credential", "usehttppath username"),
    (
        "diff",
        "algorithm autorefreshindex binary cachetextconv colormoved colormovedws context dirstat dstprefix \
         ignoresubmodules indentheuristic interhunkcontext mnemonicprefix noprefix orderfile relative renamelimit renames \
         srcprefix statgraphwidth statnamewidth submodule suppressblankempty trustexitcode wordregex wserrorhighlight \
         xfuncname",
    ),
    ("difftool", "guidefault prompt trustexitcode"),
    (
        "extensions",
        "compatobjectformat noop noop-v1 objectformat preciousobjects refstorage relativeworktrees \
         worktreeconfig",
    ),
    ("fastimport", "unpacklimit"),
    ("feature", ALL),
    (
        "fetch",
        "all negotiationalgorithm output parallel prune prunetags recursesubmodules showforcedupdates \
         unpacklimit writecommitgraph",
    ),
    (
        "format",
        "attach cc coverfromdescription coverletter encodeemailheaders filenamemaxlength forceinbodyfrom from headers \
         mboxrd noprefix notes numbered pretty signature signaturefile signoff subjectprefix suffix thread to useautobase",
    ),
    (
        "gc",
        "aggressivedepth aggressivewindow auto autodetach autopacklimit bigpackthreshold cruftpacks logexpiry maxcruftsize \
         packrefs pruneexpire reflogexpire reflogexpireunreachable repackfilter rerereresolved rerereunresolved \
         worktreepruneexpire writecommitgraph",
    ),
    ("gpg", "format"),
    ("grep", "column extendedregexp fallbacktonoindex fullname linenumber patterntype threads"),
    ("gui", "encoding geometry wmstate"),
    ("help", "autocorrect format htmlpath"),
    (
        "http",
        "extraheader lowspeedlimit lowspeedtime maxrequests minsessions noepsv postbuffer useragent version",
    ),
    ("i18n", ALL),
    ("index", ALL),
    ("interactive", "singlekey"),
    ("lfs", "access locksverify repositoryformatversion"),
    (
        "log",
        "abbrevcommit date decorate diffmerges excludedecoration follow graphcolors initialdecorationset mailmap showroot \
         showsignature",
    ),
    ("lsrefs", "unborn"),
    ("mailinfo", "scissors"),
    ("mailmap", "blob file"),
    ("maintenance", "auto autodetach enabled schedule strategy"),
    (
        "merge",
        "autostash branchdesc conflictstyle defaulttoupstream directoryrenames ff log name recursive renamelimit renames \
         renormalize stat suppressdest verbosity",
    ),
    (
        "mergetool",
        "guidefault hasoutput hideresolved keepbackup keeptemporaries prompt trustexitcode useautomerge writetotemp",
    ),
    ("notes", ALL),
    ("pack", ALL),
    ("pretty", ALL),
    ("protocol", "version"),
    ("pull", "ff rebase"),
    (
        "push",
        "autosetupremote default followtags gpgsign negotiate pushoption recursesubmodules usebitmaps useforceifincludes",
    ),
    (
        "rebase",
        "abbreviatecommands autosquash autostash backend forkpoint maxlabellength missingcommitscheck \
         rebasemerges reschedulefailedexec stat updaterefs",
    ),
    (
        "receive",
        "advertiseatomic advertisepushoptions autogc hiderefs keepalive maxinputsize procreceiverefs shallowupdate \
         unpacklimit updateserverinfo",
    ),
    ("reftable", ALL),
    (
        "remote",
        "fetch followremotehead gh-resolved mirror partialclonefilter promisor prune prunetags push \
         serveroption skipdefaultupdate skipfetchall tagopt",
    ),
    (
        "repack",
        "cruftdepth cruftthreads cruftwindow cruftwindowmemory packkeptobjects updateserverinfo usedeltabaseoffset \
         usedeltaislands writebitmaps",
    ),
    ("rerere", ALL),
    ("revert", "reference"),
    ("showbranch", ALL),
    ("sparse", ALL),
    ("splitindex", ALL),
    ("ssh", "variant"),
    ("stash", ALL),
    ("status", ALL),
    (
        "submodule",
        "active alternateerrorstrategy alternatelocation branch fetchjobs fetchrecursesubmodules ignore propagatebranches \
         recurse",
    ),
    ("tag", "forcesignannotated gpgsign sort"),
    ("tar", "umask"),
    ("transfer", "advertiseobjectinfo advertisesid hiderefs unpacklimit"),
    ("uploadpack", "allowfilter hiderefs keepalive"),
    ("uploadpackfilter", "allow maxdepth"),
    ("user", "email name signingkey useconfigonly"),
    ("versionsort", ALL),
    ("worktree", "guessremote userelativepaths"),
];

/// Keys that switch a check, with the values that enable it.
const CHECKS: &[(&str, &str, &[&str])] = &[
    ("clean", "requireforce", &ON),
    ("fetch", "fsckobjects", &ON),
    ("http", "followredirects", &["false", "initial", "no", "off", "0"]),
    ("http", "schannelcheckrevoke", &ON),
    ("http", "sslverify", &ON),
    ("merge", "verifysignatures", &ON),
    ("receive", "denycurrentbranch", &["refuse", "true", "yes", "on", "1"]),
    ("receive", "denydeletecurrent", &["refuse", "true", "yes", "on", "1"]),
    ("receive", "denydeletes", &ON),
    ("receive", "denynonfastforwards", &ON),
    ("receive", "fsckobjects", &ON),
    ("transfer", "credentialsinurl", &["die", "warn"]),
    ("transfer", "fsckobjects", &ON),
];
/// Keys that redirect connections or route them through a proxy. Their values are addresses, not programs.
const WAYS: &[(&str, &str)] =
    &[("http", "proxy"), ("remote", "proxy"), ("url", "insteadof"), ("url", "pushinsteadof")];
/// Values that enable something.
const ON: [&str; 4] = ["true", "yes", "on", "1"];

/// URL schemes, spelled as git does, that git handles itself. Any other scheme is the name of a program.
const SCHEMES: [&str; 9] = ["http", "https", "ssh", "git", "file", "ftp", "ftps", "git+ssh", "ssh+git"];
/// Built-in submodule update modes.
const UPDATES: [&str; 4] = ["checkout", "rebase", "merge", "none"];
/// Boolean values.
const FLAGS: [&str; 9] = ["", "0", "1", "false", "true", "no", "yes", "off", "on"];

/// Returns `true` if an entry starts no program and leads to no file that could.
pub(crate) fn is_harmless(entry: &Entry) -> bool {
    let (section, key) = (entry.section(), entry.key());
    let (Ok(section), Ok(key)) = (std::str::from_utf8(&section), std::str::from_utf8(&key)) else {
        return false;
    };
    let value = entry.value();
    // Git passes names and values to programs, which would interpret such words as options.
    if entry.subsection().is_some_and(has_option) || has_option(value) {
        return false;
    }
    // Git also accepts the name of a remote as an address.
    if section == "remote" && entry.subsection().is_some_and(|name| !is_location(name)) {
        return false;
    }
    let is_one_of = |values: &[&str]| values.iter().any(|one| value.eq_ignore_ascii_case(one.as_bytes()));
    match (section, key) {
        ("core", "fsmonitor") | ("pager", _) => is_one_of(&FLAGS),
        ("diff" | "merge", "tool" | "guitool" | "default") => is_plain(value),
        ("submodule", "update") => is_one_of(&UPDATES),
        ("branch", "remote" | "pushremote")
        | ("remote", "url" | "pushurl" | "pushdefault")
        | ("submodule", "url")
        | ("extensions", "partialclone") => is_location(value),
        ("remotes", _) => value.split(u8::is_ascii_whitespace).all(is_location),
        // The base replaces the start of another address on the same host.
        ("url", "insteadof" | "pushinsteadof") => entry
            .subsection()
            .is_some_and(|base| is_base(base) && host(base).is_some_and(|own| host(value) == Some(own))),
        _ if CHECKS
            .iter()
            .any(|(one, other, values)| (*one, *other) == (section, key) && is_one_of(values)) =>
        {
            true
        }
        _ => ANY.iter().any(|(one, keys)| {
            *one == section && (*keys == ALL || keys.split_ascii_whitespace().any(|one| one == key))
        }),
    }
}

/// Returns `true` if an entry leads to other hosts and starts no program in doing so.
pub(crate) fn leads_to_hosts(entry: &Entry) -> bool {
    let (section, key) = (entry.section(), entry.key());
    let is_way = WAYS.iter().any(|(one, other)| (one.as_bytes(), other.as_bytes()) == (&*section, &*key));
    let is_address = |text: &[u8]| is_location(text) && !has_option(text);
    is_way && is_address(entry.value()) && entry.subsection().is_none_or(is_address)
}

/// Returns the host of an address, including the form `user@host:path`; `None` for a path.
fn host(address: &[u8]) -> Option<Vec<u8>> {
    let position = |text: &[u8], sign: &[u8]| text.windows(sign.len()).position(|found| found == sign);
    let rest = match position(address, b"://") {
        Some(at) => {
            let rest = &address[at + 3..];
            &rest[..rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len())]
        }
        None => &address[..address.iter().position(|byte| *byte == b':')?],
    };
    let name = rest.rsplit(|byte| *byte == b'@').next().unwrap_or(rest);
    let is_port = |port: &[u8]| !port.is_empty() && port.iter().all(u8::is_ascii_digit);
    let end = name.iter().rposition(|byte| *byte == b':').filter(|at| is_port(&name[at + 1..]));
    let name = &name[..end.unwrap_or(name.len())];
    let is_host = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(byte);
    // A short word, as in `gh:`, is not a host.
    (name.contains(&b'.') && name.iter().all(is_host)).then(|| name.to_ascii_lowercase())
}

/// Returns `true` if any word begins like an option.
fn has_option(text: &[u8]) -> bool {
    let mut words = text.split(u8::is_ascii_whitespace);
    words.any(|word| {
        word.strip_prefix(b"-").and_then(<[u8]>::first).is_some_and(|first| !first.is_ascii_digit())
    })
}

/// Returns `true` for the name of a tool that git knows, or that another key defines, which is not harmless.
/// Git interprets other values as the path of a script.
fn is_plain(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Returns `true` for the address of a repository. Git runs a program for forms like `ext::…` and `foo://…`,
/// so these are excluded.
fn is_location(value: &[u8]) -> bool {
    let value = String::from_utf8_lossy(value);
    // `ssh` and other programs interpret such a value as an option.
    let is_option = |text: &str| text.starts_with('-') || text.contains("@-");
    match value.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '@']) => SCHEMES.contains(&scheme) && !is_option(rest),
        _ => !value.split_once("::").is_some_and(|(helper, _)| is_helper(helper)) && !is_option(&value),
    }
}

/// Returns `true` if git starts a program of its own name for an address: `ext::…`, `foo://…`. Git refuses options in
/// addresses itself.
pub(crate) fn starts_helper(address: &str) -> bool {
    let is_name = |text: &str| !text.is_empty() && is_helper(text);
    match address.split_once("://") {
        Some((scheme, _)) if is_name(scheme) => !SCHEMES.contains(&scheme),
        _ => address.split_once("::").is_some_and(|(helper, _)| is_name(helper)),
    }
}

/// Returns `true` if git interprets the text before `::` as the name of a program.
fn is_helper(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Returns `true` if a prefix is an address regardless of the text that follows.
fn is_base(base: &[u8]) -> bool {
    let base = String::from_utf8_lossy(base);
    let has_host = base.split_once(':').is_some_and(|(host, _)| host.contains('@'));
    is_location(base.as_bytes()) && (base.contains("://") || has_host || base.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(name: &str, value: &str) -> bool {
        is_harmless(&Entry::new(name.as_bytes(), Some(value.as_bytes())))
    }

    #[test]
    fn what_git_and_its_users_write_every_day_is_harmless() {
        for (name, value) in [
            ("core.repositoryformatversion", "0"),
            ("core.fsmonitor", "true"),
            ("remote.origin.url", "https://example.com/a.git"),
            ("remote.origin.url", "git@example.com:a/b.git"),
            ("remote.origin.url", "ssh://git@[::1]:22/a"),
            ("remote.origin.url", "../a::b/c"),
            ("remote.a.b.fetch", "+refs/heads/*:refs/remotes/origin/*"),
            ("branch.main.remote", "origin"),
            ("user.Name", "A B"),
            ("submodule.lib/x.update", "rebase"),
            ("url.git@example.com:.insteadof", "https://example.com/"),
            ("pager.log", "false"),
            ("merge.tool", "vimdiff"),
            ("extensions.partialclone", "origin"),
            ("remote.origin.promisor", "true"),
            ("remotes.default", "origin upstream"),
            ("gc.pruneexpire", "-1"),
            ("url.https://Example.com:443/.insteadof", "git@example.com:"),
            ("url.ssh://git@example.com/.pushinsteadof", "https://me@example.com/"),
            ("http.sslverify", "true"),
            ("transfer.fsckobjects", "1"),
        ] {
            assert!(is(name, value), "{name} = {value}");
        }
    }

    #[test]
    fn what_may_start_something_is_not() {
        for (name, value) in [
            ("core.fsmonitor", "x"),
            ("core.hookspath", "hooks"),
            ("CORE.HooksPath", "hooks"),
            ("core.protectntfs", "false"),
            ("alias.st", "status"),
            ("alias.st", "!x"),
            ("pager.log", "x"),
            ("remote.origin.url", "ext::sh -c x"),
            ("remote.origin.url", "::x"),
            ("remote.origin.url", "foo://x"),
            ("remote.origin.url", "HTTPS://x"),
            ("remote.origin.url", "ssh://-oProxyCommand=x"),
            ("remote.origin.url", "-x:y"),
            ("remote.origin.vcs", "x"),
            // Git passes names and values to programs, which interpret them as options, or uses them as
            // addresses.
            ("extensions.partialclone", "--upload-pack=x;git-upload-pack"),
            ("extensions.partialclone", "ext::sh -c x"),
            ("remote.--upload-pack=x.promisor", "true"),
            ("remote.--upload-pack=x.url", "a"),
            ("remote.ext::sh -c x.promisor", "true"),
            ("remotes.default", "origin --upload-pack=x"),
            ("remotes.default", "origin ext::x"),
            ("push.pushoption", "a --exec=x"),
            ("branch.main.remote", "ext::sh -c x"),
            ("remote.origin.uploadpack", "x"),
            ("url.ext:.insteadof", "https:"),
            ("url.ext::sh -c x .insteadof", "https://"),
            ("url..insteadof", "x"),
            ("submodule.a.update", "!x"),
            ("merge.tool", "../../x"),
            ("merge.x.driver", "x"),
            ("diff.external", "x"),
            ("diff.x.textconv", "x"),
            ("filter.lfs.process", "git-lfs filter-process"),
            ("include.path", "x"),
            ("includeif.gitdir:/.path", "x"),
            ("protocol.ext.allow", "always"),
            ("hook.x.command", "x"),
            // A line of the format may be `exec x`.
            ("rebase.instructionformat", "%s%nexec x"),
            ("not.yet.known", "1"),
            ("nosection", "1"),
            ("", ""),
        ] {
            assert!(!is(name, value), "{name} = {value}");
        }
    }

    #[test]
    fn what_takes_a_check_away_or_leads_to_another_host_is_not() {
        for (name, value) in [
            ("http.sslverify", "false"),
            ("http.https://example.com/.sslverify", "0"),
            ("http.sslverify", ""),
            ("http.sslcainfo", "ca.pem"),
            ("http.sslcapath", "/x"),
            ("http.sslcert", "x"),
            ("http.sslversion", "sslv3"),
            ("http.sslcipherlist", "x"),
            ("http.sslbackend", "schannel"),
            ("http.schannelcheckrevoke", "false"),
            ("http.schannelusesslcainfo", "false"),
            ("http.pinnedpubkey", ""),
            ("http.proxy", "http://other:8080"),
            ("http.proxysslcainfo", "x"),
            ("http.followredirects", "true"),
            ("http.delegation", "always"),
            ("http.emptyauth", "true"),
            ("http.proactiveauth", "basic"),
            ("http.cookiefile", "x"),
            ("core.gitproxy", "x"),
            ("remote.origin.proxy", "http://other"),
            ("url.https://other.com/.insteadof", "https://example.com/"),
            ("url.https://example.com.other.com/.insteadof", "https://example.com/"),
            ("url.git@other.com:.pushinsteadof", "git@example.com:"),
            ("url.https://example.com/.insteadof", "gh:"),
            ("url./x/.insteadof", "https://example.com/"),
            ("url.https://example.com@other.com/.insteadof", "https://example.com/"),
            ("url.https://other.com/.insteadof", ""),
            ("fsck.missingemail", "ignore"),
            ("fetch.fsckobjects", "false"),
            ("fetch.fsck.missingemail", "ignore"),
            ("transfer.credentialsinurl", "allow"),
            ("merge.verifysignatures", "false"),
            ("gpg.ssh.allowedsignersfile", "x"),
            ("gpg.mintrustlevel", "undefined"),
            ("receive.denycurrentbranch", "updateInstead"),
            ("receive.denynonfastforwards", "false"),
            ("clean.requireforce", "false"),
            ("uploadpack.allowanysha1inwant", "true"),
        ] {
            assert!(!is(name, value), "{name} = {value}");
        }
    }

    /// Keys whose values are addresses lead to no file.
    #[test]
    fn ways_to_other_hosts_name_no_programs() {
        let leads =
            |name: &str, value: &str| leads_to_hosts(&Entry::new(name.as_bytes(), Some(value.as_bytes())));
        assert!(
            leads("http.proxy", "http://proxy:8080") && leads("url.https://a.b/.insteadof", "https://c.d/")
        );
        assert!(!leads("url.ext::sh -c x .insteadof", "https://") && !leads("http.proxy", "ext::x"));
        assert!(!leads("core.gitproxy", "x") && !leads("http.sslcainfo", "ca.pem"));
    }

    #[test]
    fn keys_are_written_as_they_are_compared() {
        for (section, keys) in ANY {
            let is_small = |text: &str| text.bytes().all(|byte| !byte.is_ascii_uppercase());
            assert!(is_small(section) && is_small(keys) && !keys.is_empty(), "{section}");
        }
        assert!(ANY.is_sorted_by_key(|(section, _)| section), "sections stand once, in order");
    }
}
