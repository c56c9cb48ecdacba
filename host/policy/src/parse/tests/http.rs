//! Tests of `[http]`, `[access]` and `[workspace]`.

use std::collections::BTreeMap;

use crate::access::{Algorithm, Auth, KeysFrom, Principal, notes, open_to_all};

use super::*;
use crate::render;

const HASH: &str = "9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab";

const JWT: &str = "[http]\nurl = \"https://mcp.example.com/mcp\"\nhosts = [\"mcp.internal\"]\norigins = [\"https://a.example.com\"]\n\
                   proxies = [\"10.0.0.0/8\"]\n[http.tls]\ncertificate = \"/etc/c.pem\"\nkey = \"/etc/k.pem\"\n[http.auth]\n\
                   kind = \"jwt\"\nissuer = \"https://login.example.com\"\naudiences = [\"api://mcp\"]\n\
                   jwks_url = \"https://login.example.com/certs\"\nalgorithms = [\"ES256\"]\nclock_skew = 5\nscopes = [\"mcp\"]\n\
                   groups_claim = \"groups\"\n";

const LIMITS: &str = "[http.admin]\nscopes = [\"admin\"]\nprincipals = [\"ann\"]\n[http.observe]\nlisten = \"127.0.0.1:9464\"\ntraces = \"https://c.example.com:4318/v1/traces\"\n\
                      ca = \"/etc/ca.pem\"\n[limits.a]\nprincipals = [\"ci-*\"]\ngroups = [\"dev\"]\nscopes = [\"run\"]\ntools = [\"Bash\", \"weather.*\"]\n\
                      in_flight = 4\ncalls_per_minute = 60\ncalls_per_day = 1000\nprocessor_seconds_per_day = 3600\n\
                      stored_per_day = \"100MiB\"\n[limits.b]\nin_flight = 8\n";

fn tokens() -> String {
    format!(
        "[http.auth]\nkind = \"token\"\n[http.auth.tokens.ann]\nsha256 = \"{HASH}\"\nscopes = [\"run\"]\n\
         groups = [\"dev\"]\n[access.a]\nprincipals = []\nallow = [\"Bash\"]\ndeny = [\"Read*\"]\n[access.b]\ngroups = [\"ops\"]\n\
         scopes = [\"x\", \"y\"]\nallow = []\n[workspace.web]\npath = \"/srv/web\"\nprincipals = [\"ann\", \"c*\"]\n\
         [workspace.default]\ngroups = [\"ops\"]\n"
    )
}

fn read(text: &str) -> Policy {
    parse(&format!("version = 1\n{text}")).unwrap()
}

#[test]
fn without_a_table_the_token_of_the_program_lets_in() {
    let policy = Policy::builtin();
    assert_eq!(policy.http.auth.value, Auth::OwnToken);
    assert!(!policy.http.is_set() && policy.access.is_empty() && policy.served.is_empty());
    assert_eq!(read("[http.auth]\nkind = \"token\"").http.auth.value, Auth::OwnToken);
}

#[test]
fn an_issuer_is_read() {
    let policy = read(JWT);
    let [jwt] = policy.http.auth.value.issuers() else { panic!("{policy:?}") };
    let jwt = &jwt.value;
    assert_eq!(jwt.keys, KeysFrom::Url("https://login.example.com/certs".to_owned()));
    assert_eq!((jwt.algorithms.as_slice(), jwt.clock_skew), (&[Algorithm::Es256][..], 5));
    let few = JWT.replace("algorithms = [\"ES256\"]\nclock_skew = 5\n", "");
    let policy = read(&few);
    let [jwt] = policy.http.auth.value.issuers() else { panic!("no JWT") };
    let jwt = &jwt.value;
    assert_eq!((jwt.algorithms.len(), jwt.clock_skew), (3, 60));
}

/// Returns a text with two issuers and a token.
fn issuers() -> String {
    format!(
        "[http]\nurl = \"https://mcp.example.com/mcp\"\n[http.auth]\nkind = \"jwt\"\n\
         [http.auth.issuers.team]\nissuer = \"https://login.example.com\"\naudiences = [\"mcp\"]\n\
         jwks_url = \"https://login.example.com/certs\"\nca = \"/etc/scorpiox/ca.pem\"\nname_claim = \"name\"\n\
         [http.auth.issuers.partner]\nissuer = \"https://id.example.org\"\naudiences = [\"mcp\"]\n\
         jwks_file = \"/etc/scorpiox/jwks.json\"\n[http.auth.tokens.ci]\nsha256 = \"{HASH}\"\n"
    )
}

#[test]
fn several_issuers_have_names_that_no_subject_of_another_and_no_token_can_take() {
    let policy = read(&issuers());
    let [team, partner] = policy.http.auth.value.issuers() else { panic!("{policy:?}") };
    assert_eq!(
        (team.value.name.as_deref(), team.value.qualified("ann")),
        (Some("team"), "team:ann".to_owned())
    );
    assert_eq!((partner.value.qualified("ann"), &partner.value.ca), ("partner:ann".to_owned(), &None));
    assert_eq!(policy.http.auth.value.tokens().map(BTreeMap::len), Some(1));
    for (from, to, told) in [
        (
            "https://id.example.org\"",
            "https://login.example.com\"",
            "have the same `issuer`, https://login.example.com",
        ),
        (
            "https://id.example.org\"",
            "HTTPS://Login.Example.com:443/\"",
            "have the same `issuer`, HTTPS://Login.Example.com:443/",
        ),
        (
            "jwks_file = \"/etc/scorpiox/jwks.json\"",
            "jwks_url = \"https://login.example.com:443/certs\"",
            "have the same `jwks_url`, ",
        ),
        ("issuers.partner", "issuers.\"a:b\"", "\"a:b\" is not the name of an issuer"),
        ("issuers.partner", "issuers.Approver", "\"Approver\", with which the names of approvers begin"),
        (
            "name_claim = \"name\"",
            "name_claim = \"\"",
            "write the name of a claim, such as \"preferred_username\"",
        ),
        ("\nca = \"/etc/scorpiox/ca.pem\"", "\nca = \"ca.pem\"", "/etc/scorpiox/login-ca.pem"),
        (
            "jwks_file = \"/etc/scorpiox/jwks.json\"",
            "jwks_file = \"/etc/scorpiox/jwks.json\"\nca = \"/ca\"",
            "vouches for nobody",
        ),
        ("kind = \"jwt\"", "kind = \"jwt\"\ngroups_claim = \"groups\"", "stands beside [http.auth.issuers]"),
    ] {
        let text = issuers().replace(from, to);
        assert_ne!(text, issuers());
        let problem = parse(&format!("version = 1\n{text}")).expect_err("a mistake").to_string();
        assert!(problem.contains(told), "{told}: {problem}");
    }
    let many = (0..17).map(|number| {
        format!(
            "[http.auth.issuers.i{number}]\nissuer = \"https://i{number}.example.com\"\naudiences = [\"mcp\"]\n\
             jwks_url = \"https://i{number}.example.com/keys\"\n"
        )
    });
    for (tables, told) in [
        ("[http.auth.issuers]\n".to_owned(), "has 0 issuers"),
        (many.collect(), "has 17 issuers"),
        ("[http.auth.issuers.a]\nkind = \"jwt\"\n".to_owned(), "[http.auth.issuers.a]"),
        (
            "[http.auth.issuers.a]\nissuer = \"https://a.example.com\"\n".to_owned(),
            "[http.auth.issuers.a] has no `audiences`",
        ),
    ] {
        let text =
            format!("[http]\nurl = \"https://mcp.example.com/mcp\"\n[http.auth]\nkind = \"jwt\"\n{tables}");
        let problem = parse(&format!("version = 1\n{text}")).expect_err("a mistake").to_string();
        assert!(problem.contains(told), "{told}: {problem}");
    }
    // With `kind = "token"`, issuers are not allowed.
    let problem =
        parse(&format!("version = 1\n{}", issuers().replace("\"jwt\"", "\"token\""))).expect_err("a mistake");
    assert!(problem.to_string().contains("issuers"), "{problem}");
    // A subject of an issuer without a name could have the name of a token.
    let beside = format!("{JWT}[http.auth.tokens.ci]\nsha256 = \"{HASH}\"\n");
    let problem = parse(&format!("version = 1\n{beside}")).expect_err("a mistake").to_string();
    assert!(problem.contains("an issuer without a name, and tokens beside it"), "{problem}");
}

#[test]
fn a_rule_that_names_nobody_of_several_issuers_is_noted() {
    let said = |rules: &str| {
        let groups = issuers().replace("name_claim", "groups_claim = \"groups\"\nname_claim");
        let policy = read(&format!("{groups}{rules}"));
        let notes = notes(&policy.http, &policy.access, &policy.limits, &policy.served);
        notes.into_iter().map(|(before, _, after)| before + &after).collect::<Vec<_>>()
    };
    for good in [
        "principals = [\"team:ann\", \"partner:*\", \"ci\", \"*\", \"t*\"]",
        "groups = [\"team:ops\"]",
        "scopes = [\"partner:run\"]",
    ] {
        assert!(said(&format!("[access.a]\n{good}\nallow = []\n")).is_empty(), "{good}");
    }
    for (table, bad, told) in [
        (
            "access.a",
            "principals = [\"ann\"]",
            "names the principal ann, and no token has it; that of an issuer stands",
        ),
        ("access.a", "principals = [\"other:*\"]", "names the principal other:*"),
        ("access.a", "groups = [\"ops\"]", "names the group ops"),
        // The issuer has no `groups_claim`.
        ("access.a", "groups = [\"partner:ops\"]", "names the group partner:ops"),
        ("limits.a", "scopes = [\"run\"]\nin_flight = 1", "names the scope run"),
        ("http.admin", "principals = [\"Team:ann\"]", "names the principal Team:ann"),
    ] {
        let more = if table == "access.a" { "allow = []\n" } else { "" };
        let said = said(&format!("[{table}]\n{bad}\n{more}"));
        assert!(said.len() == 1 && said[0].contains(told) && said[0].contains(table), "{told}: {said:?}");
    }
}

#[test]
fn tools_that_are_open_to_all_of_one_issuer_are_noted() {
    let said = |rules: &str| {
        let policy = read(&format!("{}{rules}[access.z]\nprincipals = []\nallow = []\n", issuers()));
        let notes = open_to_all(&policy.http, &policy.access, &["Bash"]);
        notes.into_iter().map(|(before, _, after)| before + &after).collect::<Vec<_>>()
    };
    let rule = |who: &str| said(&format!("[access.a]\n{who}\nallow = [\"*\"]\n"));
    for all in ["principals = [\"partner:*\"]", "principals = [\"team:x\", \"part*\"]"] {
        let said = rule(all);
        assert!(
            said.len() == 1 && said[0].contains("every valid token of the issuer partner may use Bash"),
            "{all}: {said:?}"
        );
    }
    assert_eq!(rule("").len(), 3, "both issuers, and the tokens");
    for some in ["principals = [\"partner:a*\"]", "groups = [\"team:ops\"]", "scopes = [\"team:run\"]"] {
        assert!(rule(some).is_empty(), "{some}");
    }
}

#[test]
fn what_is_shown_reads_as_the_same_again() {
    for text in
        [JWT.to_owned(), issuers(), tokens(), LIMITS.to_owned(), "[http.auth]\nkind = \"none\"\n".to_owned()]
    {
        let policy = read(&text);
        let shown = render(&policy);
        let again = parse(&shown).unwrap_or_else(|problem| panic!("{problem}\n{shown}"));
        assert_eq!(render(&again).lines().count(), shown.lines().count(), "{shown}");
        let plain = |policy: &Policy| {
            render(policy)
                .lines()
                .map(|line| line.split(" # ").next().unwrap().trim_end().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(plain(&again), plain(&policy));
    }
}

#[test]
fn mistakes_are_told_with_what_to_write() {
    says(
        "[http.admin]",
        "line 2: [http.admin] does not say who may read the pages; write `scopes = [\"admin\"]`, which their tokens need, or \
         `principals = [\"NAME\"]`",
    );
    says(
        "[http.auth]\nkind = \"none\"\n[http.admin]\nscopes = [\"a\"]",
        "line 4: [http.admin] says who may read the pages, and [http.auth] asks nobody who they are; write another `kind` into \
         [http.auth]",
    );
    says(
        "[limits.a]\nprincipals = [\"ann\"]",
        "line 2: [limits.a] bounds nothing; write one of in_flight, calls_per_minute, calls_per_day, processor_seconds_per_day, \
         stored_per_day",
    );
    says(
        "[limits.a]\nin_flight = 0",
        "line 3: `in_flight` in [limits.a] is 0; write a number from 1 to 1000000",
    );
    says(
        "[http.observe]\nlisten = \"9464\"",
        "line 3: `listen` in [http.observe] is \"9464\"; write an IP address and a port, such as \"127.0.0.1:9464\"",
    );
    says(
        "[http.observe]\ntraces = \"collector:4318\"",
        "line 3: `traces` in [http.observe] is \"collector:4318\", which is no address of a collector; write where it takes \
         traces, such as \"https://collector.example.com:4318/v1/traces\"",
    );
    says(
        "[http.observe]\nlisten = \"127.0.0.1:1\"\nca = \"/etc/ca.pem\"",
        "line 4: `ca` in [http.observe] is for a collector that shows a certificate, and there is none; write `traces` with an \
         address that begins with https://",
    );
    says(
        "[http]\nport = 1",
        "line 3: unknown key `port` in [http]; known keys are `url`, `hosts`, `origins`, `proxies`, `tls`, `auth`, `observe`, `admin`",
    );
    says(
        "[http.auth]\nissuer = \"x\"",
        "line 2: [http.auth] has no `kind`; known kinds are `token`, `jwt`, `none`",
    );
    says(
        "[http.auth]\nkind = \"tokens\"",
        "line 3: `kind` in [http.auth] is \"tokens\"; did you mean `token`? known kinds are `token`, `jwt`, `none`",
    );
    says(
        "[http]\nurl = \"http://mcp.example.com/mcp\"",
        "line 3: `url` in [http] is \"http://mcp.example.com/mcp\", and has to begin with https:// (http:// on this machine alone), \
         and to end with /mcp; write the address that clients use, such as \"https://mcp.example.com/mcp\"",
    );
    says(
        "[http.tls]\nkey = \"/k.pem\"",
        "line 2: [http.tls] has no `certificate`; write `certificate = \"/etc/scorpiox/tls/certificate.pem\"`",
    );
    says(
        "[access.a]\nprincipals = [\"ann\"]",
        "line 2: [access.a] has neither `allow` nor `deny`; write which tools it opens or closes",
    );
    says(
        "[workspace.web]\nprincipals = []",
        "line 2: [workspace.web] has no `path`; write `path = \"/srv/projects/web\"`, or another folder",
    );
    says(
        "[workspace.default]\npath = \"/srv\"",
        "line 2: [workspace.default] has a `path`; remove it: this one is where the server is started",
    );
    for (text, words) in [
        (JWT.replace("\"ES256\"", "\"HS256\""), "\"HS256\" is not supported"),
        (JWT.replace("\"ES256\"", "\"none\""), "\"none\" is not supported"),
        (JWT.replace("audiences = [\"api://mcp\"]", "audiences = []"), "has no `audiences`"),
        (
            JWT.replace("https://login.example.com/certs", "http://login.example.com/certs"),
            "begins with https://",
        ),
        (JWT.replace("jwks_url", "jwks_file = \"/a\"\njwks_url"), "both `jwks_file` and `jwks_url`"),
        (JWT.replace("url = \"https://mcp.example.com/mcp\"\n", ""), "has no `url`"),
        (JWT.replace("clock_skew = 5", "clock_skew = 601"), "from 0 to 600"),
        (JWT.replace("https://a.example.com", "https://a.example.com/"), "is not an origin"),
        (JWT.replace("https://a.example.com", "null"), "is not an origin"),
        (JWT.replace("\"mcp.internal\"", "\"*.internal\""), "is not the name of a host"),
        (JWT.replace("\"mcp.internal\"", "\"mcp.internal:80\""), "is not the name of a host"),
        (tokens().replace(HASH, &HASH[1..]), "is no SHA-256"),
        (tokens().replace(HASH, &format!("{}g", &HASH[1..])), "is no SHA-256"),
        (format!("{}[http.auth.tokens.bob]\nsha256 = \"{HASH}\"", tokens()), "is the same token as"),
        (tokens().replace("\"run\"", "\"a b\""), "scope \"a b\" is empty"),
        (tokens().replace("tokens.ann]", "tokens.\"a b\"]"), "is not the name of a token"),
        ("[http]\nproxies = [\"10.0.0.1\"]\n[http.auth]\nkind = \"none\"".to_owned(), "lets everybody call"),
        (
            format!("[http.auth]\nkind = \"none\"\n[http.auth.tokens.a]\nsha256 = \"{HASH}\""),
            "unknown key `tokens`",
        ),
    ] {
        let problem = parse(&format!("version = 1\n{text}")).expect_err(words).to_string();
        assert!(problem.contains(words) && problem.contains("line "), "{words}: {problem}");
    }
}

#[test]
fn all_mistakes_of_these_tables_are_told_at_once() {
    let text = "version = 1\n[http.auth]\nkind = \"jwt\"\n[access.a]\ndeny = [1]\n[workspace.w]\n[web]\nenabled = 1\n";
    let found: Vec<_> =
        Policy::mistakes(text, Path::new("policy.toml")).into_iter().map(|problem| problem.line).collect();
    assert_eq!(found, [Some(2), Some(5), Some(6), Some(8)]);
}

#[test]
fn who_is_let_in_is_decided_for_all_and_tools_have_to_be_open_in_both_files() {
    let places = Places::standard("/w".into(), None, Path::new("/home/me/.scorpiox"));
    let meet = |managed: &str, own: &str| {
        let text = |text: &str| format!("version = 1\n{text}");
        let managed =
            policy(&text(managed), Path::new("p"), Layer::Managed, Policy::builtin()).unwrap().for_all();
        let own = policy(&text(own), Path::new("p"), Layer::Own, managed.clone()).unwrap();
        managed.narrowed_by(&own, &places)
    };
    let both = meet(JWT, &tokens());
    assert!(matches!(both.http.auth.value, Auth::Jwt(_)) && both.served.contains_key("web"));
    let alone = meet("[web]\nenabled = true\n", &tokens());
    assert!(matches!(alone.http.auth.value, Auth::Tokens(_)));
    let ann = Principal::named("ann");
    let rules = meet(
        "[access.a]\nallow = [\"Bash\", \"ReadDocs\"]\n",
        "[access.b]\nallow = [\"Bash\", \"PlanMode\"]\n",
    );
    for (tool, is_open) in [("Bash", true), ("ReadDocs", false), ("PlanMode", false)] {
        assert_eq!(rules.access.check(&ann, tool, None).is_ok(), is_open, "{tool}");
    }
    let kept = meet("[access.a]\nallow = [\"Bash\"]\n", "[web]\nenabled = true\n");
    assert!(kept.access.check(&ann, "ReadDocs", None).is_err());
    // The limits of both files apply.
    let bounds = meet("[limits.a]\nin_flight = 1\n", "[limits.a]\nin_flight = 9\n");
    let most: Vec<_> = bounds.limits.all().map(|(_, rule)| rule.in_flight.as_ref().unwrap().value).collect();
    assert_eq!(most, [1, 9]);
    let folders = meet("[workspace.web]\npath = \"/srv/web\"\n", "[workspace.own]\npath = \"/home/me\"\n");
    assert_eq!(folders.served.keys().collect::<Vec<_>>(), ["web"]);
}

#[test]
fn a_conflict_with_the_file_for_all_names_its_line() {
    let read = |text: &str, layer, base| {
        crate::parse::policy(&format!("version = 1\n{text}"), Path::new("own.toml"), layer, base)
    };
    let url = "url = \"https://a.example.com/mcp\"\n";
    for (for_all, own, told) in [
        (
            format!("[http]\n{url}"),
            "[http.auth]\nkind = \"none\"\n",
            "`proxies` or `tls` ({FOR_ALL} line 3); write",
        ),
        (
            "[http.auth]\nkind = \"none\"\n".to_owned(),
            "[http.admin]\ngroups = [\"a\"]\n",
            "who they are ({FOR_ALL} line 2)",
        ),
        (
            "[audit]\nenabled = false\n".to_owned(),
            "[audit]\nrequired = true\n",
            "line 3: `required` in [audit] is true, but `enabled` is false ({FOR_ALL} line 3)",
        ),
        (
            "[shell.profile.workspace]\nnetwork = { mode = \"off\" }\n".to_owned(),
            "[shell.profile.workspace]\nunknown_hosts = \"ask\"\n",
            "network mode \"off\" ({FOR_ALL} line 3); remove it: only the administrator",
        ),
    ] {
        let told = told.replace("{FOR_ALL}", crate::MANAGED_FILE);
        let for_all = read(&for_all, Layer::Managed, Policy::builtin()).unwrap();
        let error = read(own, Layer::Own, for_all).unwrap_err().to_string();
        assert!(error.starts_with("own.toml line ") && error.contains(&told), "{told}: {error}");
    }
    // In one file, the line of the mistake is enough.
    let both = format!("[http]\n{url}[http.auth]\nkind = \"none\"\n");
    let error = read(&both, Layer::Own, Policy::builtin()).unwrap_err().to_string();
    assert!(error.contains("`proxies` or `tls`; write"), "{error}");
}
