use proptest::prelude::*;

use super::*;
use crate::{Access, HostDecision, HostRules, Policy};

fn profile(text: &str) -> Profile {
    let text = format!("version = 1\n[shell.profile.a]\n{text}");
    Policy::parse(&text, Path::new("policy.toml")).unwrap().shell.profiles["a"].clone()
}

fn builtin(name: &str) -> Profile {
    Policy::builtin().shell.profiles[name].clone()
}

fn places() -> Places {
    Places::standard("/home/me/project".into(), Some("/home/me".into()), Path::new("/home/me/.scorpiox"))
}

fn shown(rules: &[PathRule]) -> Vec<String> {
    rules.iter().map(|rule| rule.place.to_string()).collect()
}

#[test]
fn a_grant_of_readonly_takes_writing_and_leaves_reading() {
    let both = builtin("open").narrowed(&builtin("readonly"), &places());
    assert_eq!(both.name, "open+readonly");
    assert_eq!(shown(&both.write), ["@tmp"]);
    assert_eq!(shown(&both.read), ["@system", "@toolchains", "@skills", "@workspace"]);
    assert_eq!(both.network.value, Network::Off);
}

#[test]
fn a_profile_narrowed_by_itself_is_itself() {
    for profile in Policy::builtin().shell.profiles.values() {
        assert_eq!(&profile.narrowed(profile, &places()), profile);
    }
}

#[test]
fn nested_paths_meet_in_the_deeper_one() {
    let both = profile("read = ['/opt', '/srv/a', '/x']")
        .narrowed(&profile("read = ['/opt/b', '/srv', '/y', '/xx']"), &places());
    assert_eq!(shown(&both.read), ["/opt/b", "/srv/a"]);
}

#[test]
fn a_place_meets_the_paths_in_it() {
    let (place, path) = (profile("write = ['@workspace']"), profile("write = ['~/project/src', '/tmp/x']"));
    assert_eq!(shown(&place.narrowed(&path, &places()).write), ["/home/me/project/src"]);
    let everything = profile("read = ['/']");
    assert_eq!(
        shown(&everything.narrowed(&builtin("readonly"), &places()).read)[..2],
        ["@system", "@toolchains"]
    );
}

#[test]
fn what_is_protected_in_one_profile_is_not_written_by_being_named_in_the_other() {
    let own = profile("write = ['@workspace']");
    for name in [".vscode", ".claude/skills", ".git/hooks"] {
        let by = profile(&format!("write = ['~/project/{name}', '~/project/src']"));
        for narrowed in [own.narrowed(&by, &places()), by.narrowed(&own, &places())] {
            assert_eq!(shown(&narrowed.write), ["/home/me/project/src"], "{name}");
        }
    }
}

#[test]
fn what_was_narrowed_by_readonly_is_read_only() {
    assert!(builtin("readonly").is_read_only() && !builtin("open").is_read_only());
    assert!(builtin("readonly").narrowed(&profile(""), &places()).is_read_only());
    assert!(!builtin("open").narrowed(&profile(""), &places()).is_read_only());
}

#[test]
fn the_weaker_network_wins_and_lists_meet() {
    let list = |hosts: &str| profile(&format!("network = {{ mode = 'allowlist', hosts = [{hosts}] }}"));
    let (a, b) = (list("'*.a.org', 'b.org', 'c.org:80'"), list("'x.a.org:443', 'b.org', 'c.org', 'd.org'"));
    let Network::Allowlist { hosts, .. } = a.narrowed(&b, &places()).network.value else { panic!("no list") };
    assert_eq!(
        hosts.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["x.a.org:443", "b.org", "c.org:80"]
    );
    assert_eq!(builtin("open").narrowed(&a, &places()).network, a.network);
    assert_eq!(a.narrowed(&builtin("open"), &places()).network, a.network);
    let none = Network::Allowlist { hosts: Vec::new(), allow_private: Vec::new() };
    assert_eq!(builtin("workspace").narrowed(&a, &places()).network.value, none);
    assert_eq!(builtin("readonly").narrowed(&a, &places()).network.value, Network::Off);
}

#[test]
fn a_variable_stays_when_both_allow_its_value() {
    let a = profile("env = { pass = ['A', 'B'], set = { C = '1', D = '1', E = '1' } }");
    let b = profile("env = { pass = ['A', 'E', 'F'], set = { B = '2', C = '1', D = '2', G = '1' } }");
    let env = a.narrowed(&b, &places()).env;
    assert_eq!(env.pass.iter().map(|name| name.value.as_str()).collect::<Vec<_>>(), ["A"]);
    let set: Vec<_> = env.set.iter().map(|(name, value)| format!("{name}={}", value.value)).collect();
    assert_eq!(set, ["B=2", "C=1", "E=1"]);
}

#[test]
fn the_smaller_limit_stays_with_its_source() {
    let both =
        profile("limits = { processes = 8, memory = '8GiB' }").narrowed(&builtin("workspace"), &places());
    assert_eq!((both.limits.processes, both.limits.memory), (8, 4 << 30));
    assert_eq!((both.origins.processes, both.origins.memory), (Source::Line(3), Source::Builtin));
}

fn some(of: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::subsequence(of, 0..=of.len())
        .prop_map(|items| items.iter().map(|item| format!("'{item}'")).collect::<Vec<_>>().join(", "))
}

fn any_profile() -> impl Strategy<Value = Profile> {
    const READ: &[&str] = &[
        "@system",
        "@toolchains",
        "@workspace",
        "@tmp",
        "/",
        "/usr/lib",
        "/opt",
        "/opt/a",
        "~/x",
        "/home/me",
        "~/go",
    ];
    const WRITE: &[&str] =
        &["@workspace", "@tmp", "/opt", "/opt/a/b", "~/x/y", "~/project/a", "/home", "/tmp/a"];
    const DENY: &[&str] = &["**/.env*", "a", "*/b", "/opt/a", "~/x", "**/c"];
    const HOSTS: &[&str] = &["*.a.org", "a.org", "b.a.org:80", "*.b.a.org:8080", "10.0.0.1", "10.0.0.1:80"];
    const NETWORK: &[&str] = &["off", "allowlist", "open"];
    (some(READ), some(WRITE), some(DENY), some(HOSTS), prop::sample::select(NETWORK)).prop_map(
        |(read, write, deny, hosts, mode)| {
            let hosts = if mode == "allowlist" { format!(", hosts = [{hosts}]") } else { String::new() };
            profile(&format!(
                "read = [{read}]\nwrite = [{write}]\ndeny = [{deny}]\nnetwork = {{ mode = '{mode}'{hosts} }}"
            ))
        },
    )
}

fn any_path() -> impl Strategy<Value = String> {
    "/(usr|usr/lib|opt|opt/a|tmp|home/me|home/me/x|home/me/go/bin|home/me/work|home/me/.cargo/bin)(/(a|b|c|y|\\.env|\\.git/hooks)){0,3}"
}

fn any_places() -> impl Strategy<Value = Places> {
    let odd = Places {
        system: vec!["/opt/a".into()],
        toolchains: vec!["/usr/lib".into(), "/home/me/x".into()],
        workspace: "/opt".into(),
        home: None,
        ..places()
    };
    prop::sample::select(vec![places(), odd])
}

fn reaches(profile: &Profile, host: &str, port: u16) -> bool {
    match &profile.network.value {
        Network::Off => false,
        Network::Open => true,
        Network::Allowlist { hosts, .. } => {
            matches!(HostRules::from(hosts.clone()).decide(host, port), HostDecision::Allowed(_))
        }
    }
}

/// Returns `true` if a command that opens this path gets a file of its private `/tmp`, not one of the
/// machine.
fn is_scratch(profile: &Profile, path: &Path, places: &Places) -> bool {
    let shown = profile.read.iter().chain(&profile.write).filter(|rule| rule.place != Place::Tmp);
    let mut folders = shown.flat_map(|rule| places.folders(&rule.place));
    path.starts_with(&places.tmp)
        && !folders.any(|folder| folder.starts_with(&places.tmp) && path.starts_with(folder))
}

#[test]
fn a_folder_that_is_protected_on_the_machine_is_free_in_the_tmp_of_a_command() {
    let own = profile("write = ['/tmp/a']");
    let writes = |profile: &Profile| {
        profile.why_path(Path::new("/tmp/a/.git/hooks"), Access::Write, &places()).allowed
    };
    assert!(!writes(&own));
    assert!(writes(&own.narrowed(&profile("write = []"), &places())));
}

proptest! {
    #[test]
    fn what_a_narrowed_profile_allows_both_allow(
        a in any_profile(), b in any_profile(), path in any_path(), places in any_places(), write: bool,
    ) {
        let access = if write { Access::Write } else { Access::Read };
        let allows = |profile: &Profile| profile.why_path(Path::new(&path), access, &places).allowed;
        let both = allows(&a) && allows(&b);
        let scratch = |profile: &Profile| is_scratch(profile, Path::new(&path), &places);
        let narrowed = a.narrowed(&b, &places);
        // One of the two profiles may open a file of the machine at this path, and the narrowed one a private
        // file.
        let is_another = scratch(&narrowed) && !(scratch(&a) && scratch(&b));
        prop_assert!(both || is_another || !allows(&narrowed));
        // Only paths in @tmp are lost.
        prop_assert!(allows(&narrowed) || !both || path.starts_with("/tmp"));
    }

    #[test]
    fn a_narrowed_network_is_what_both_reach(a in any_profile(), b in any_profile(), host in "(a\\.org|[bc]\\.a\\.org|x\\.b\\.a\\.org|10\\.0\\.0\\.1)", port in prop::sample::select(vec![80_u16, 443, 8080])) {
        prop_assert_eq!(reaches(&a.narrowed(&b, &places()), &host, port), reaches(&a, &host, port) && reaches(&b, &host, port));
    }
}

#[test]
fn a_glob_goes_on_to_hold_where_it_did_when_its_folder_gets_smaller() {
    let wide = profile("read = ['/srv']\ndeny = ['a/secret']");
    let both = wide.narrowed(&profile("read = ['/srv/a']\ndeny = ['b']"), &places());
    let reads = |path: &str| both.why_path(Path::new(path), Access::Read, &places()).allowed;
    assert!(!reads("/srv/a/secret/x") && !reads("/srv/a/b"));
    assert!(reads("/srv/a/a/secret") && !reads("/srv/a/c/b") && reads("/srv/a/c/bb"));
}

#[test]
fn a_folder_that_is_protected_in_another_cannot_be_granted_alone() {
    let both =
        profile("write = ['/srv']").narrowed(&profile("write = ['/srv/.vscode', '/srv/b']"), &places());
    assert_eq!(shown(&both.write), ["/srv/b"]);
}

#[test]
fn what_one_opens_for_reading_inside_a_folder_for_writing_is_not_written_by_being_named_in_the_other() {
    let own = profile("read = ['/srv/a']\nwrite = ['/srv']");
    let by = profile("write = ['/srv/a/b', '/srv/c']");
    for both in [own.narrowed(&by, &places()), by.narrowed(&own, &places())] {
        assert_eq!(
            (shown(&both.write), shown(&both.read)),
            (vec!["/srv/c".to_owned()], vec!["/srv/a/b".to_owned()])
        );
    }
}

#[test]
fn a_service_is_open_if_both_profiles_open_it() {
    let own = profile("local = ['127.0.0.1:1', '127.0.0.1:2', 'unix:/run/x/y']");
    let both = own.narrowed(&profile("local = ['127.0.0.1:2', '[::1]:1', 'unix:/run/x/y']"), &places());
    let shown: Vec<_> = both.local.iter().map(|rule| rule.service.to_string()).collect();
    assert_eq!(shown, ["127.0.0.1:2", "unix:/run/x/y"]);
    assert!(own.narrowed(&builtin("readonly"), &places()).local.is_empty());
    assert!(builtin("open").narrowed(&own, &places()).local.is_empty());
}

#[test]
fn a_port_is_published_if_both_profiles_publish_it() {
    let own = profile("publish = [8080, 3000]");
    let ports =
        |by: &Profile| own.narrowed(by, &places()).publish.iter().map(|port| port.value).collect::<Vec<_>>();
    assert_eq!(ports(&profile("publish = [9000, 3000]")), [3000]);
    assert_eq!(ports(&builtin("readonly")), [0_u16; 0]);
}
