use super::*;

#[test]
fn sizes_have_a_unit_and_a_least_value() {
    for (key, least) in [("memory", 16), ("file_size", 1), ("tmp", 1)] {
        let fix = format!("write a size of at least {least}MiB, such as \"4GiB\"");
        let label = format!("`{key}` in [shell.profile.workspace.limits]");
        profile_says(&format!("limits.{key} = 1048575"), &format!("{label} is 1048575; {fix}"));
        profile_says(&format!("limits.{key} = '1023KiB'"), &format!("{label} is \"1023KiB\"; {fix}"));
        for bad in ["1.5GiB", "4GB", "", "99999999999GiB"] {
            profile_says(
                &format!("limits.{key} = '{bad}'"),
                &format!(
                    "{label} is \"{bad}\", which is not a size; {fix}: a whole number and B, KiB, MiB or GiB"
                ),
            );
        }
    }
    profile_says(
        "limits.tmp = -1",
        "`tmp` in [shell.profile.workspace.limits] is -1, which is not a size; write a size of at least 1MiB, such as \
         \"4GiB\": a whole number and B, KiB, MiB or GiB",
    );
}

#[test]
fn paths_are_absolute_and_plain() {
    let at = "`read` in [shell.profile.workspace]:";
    for (path, said) in [
        (
            "src",
            "is relative; write an absolute path, or one that begins with ~/; \"@workspace\" is the project's folder",
        ),
        (
            "~",
            "is relative; write an absolute path, or one that begins with ~/; \"@workspace\" is the project's folder",
        ),
        ("", "is empty; write an absolute path, a path that begins with ~/, or \"@workspace\""),
        ("/a/../b", "has `..` in it; write where it leads"),
        ("~/..", "has `..` in it; write where it leads"),
        ("/opt/*", "is a glob; name the folder: it covers all below it"),
    ] {
        profile_says(&format!("read = ['{path}']"), &format!("{at} path \"{path}\" {said}"));
    }
    profile_says(
        "read = [\"/a\\u0000\"]",
        &format!("{at} path \"/a\\0\" has a control character; write it without"),
    );
    profile_says(
        "read = ['@sytem']",
        &format!(
            "{at} unknown place \"@sytem\"; did you mean `@system`? known places are `@system`, `@toolchains`, \
             `@skills`, `@workspace`, `@tmp`"
        ),
    );
    let policy = parse("version = 1\n[shell.profile.x]\nread = ['/a//b/./', '~/', '~//c']").unwrap();
    let shown: Vec<_> = policy.shell.profiles["x"].read.iter().map(|rule| rule.place.to_string()).collect();
    assert_eq!(shown, ["/a/b", "~/", "~/c"]);
}

#[test]
fn programs_cannot_be_written() {
    const WHY: &str = "programs must not be able to change the programs that run next";
    let at = "`write` in [shell.profile.workspace]:";
    for place in ["@system", "@toolchains"] {
        profile_says(
            &format!("write = ['{place}']"),
            &format!("{at} {place} cannot be written; {WHY}; name {place} in `read`"),
        );
    }
    for (path, program) in [
        ("/", "/usr"),
        ("/usr/local", "/usr"),
        ("/lib64", "/lib64"),
        ("~/", "~/.cargo/bin"),
        ("~/.cargo", "~/.cargo/bin"),
        ("~/go/bin/x", "~/go/bin"),
        ("~/.scorpiox", "~/.scorpiox"),
    ] {
        profile_says(
            &format!("write = ['{path}']"),
            &format!(
                "{at} path \"{path}\" cannot be written: it has to do with {program}; {WHY}; name a folder apart from it"
            ),
        );
    }
    assert!(parse("version = 1\n[shell.profile.x]\nwrite = ['~/.cargo/registry', '/usrx', '@tmp']").is_ok());
}

#[test]
fn bad_globs_and_hosts_get_the_line_of_their_entry() {
    says(
        "[shell.profile.workspace]\ndeny = [\n  '**/.env*',\n  '**',\n]",
        "line 5: `deny` in [shell.profile.workspace]: glob \"**\" matches everything; leave the folder out of \
         `read` and `write` instead",
    );
    says(
        "[shell.profile.workspace.network]\nmode = 'allowlist'\nhosts = ['a.b',\n'*']",
        "line 5: `hosts` in [shell.profile.workspace.network]: host \"*\" stands for every host; to open the whole \
         network write network = { mode = \"open\" }",
    );
}

#[test]
fn a_network_has_a_mode_and_hosts_only_with_a_list() {
    profile_says(
        "network = {}",
        "[shell.profile.workspace.network] has no `mode`; write \"off\", \"allowlist\" or \"open\" as its `mode`",
    );
    profile_says(
        "network = { mode = 'opne' }",
        "unknown network mode \"opne\" in [shell.profile.workspace.network]; did you mean `open`? known modes are \
         `off`, `allowlist`, `open`",
    );
    for mode in ["off", "open"] {
        profile_says(
            &format!("network = {{ mode = '{mode}', hosts = [] }}"),
            &format!(
                "`hosts` in [shell.profile.workspace.network] has no meaning when `mode` is \"{mode}\"; remove it, or \
                 write `mode = \"allowlist\"`"
            ),
        );
    }
    for network in ["{ mode = 'allowlist' }", "{ mode = 'allowlist', hosts = [] }"] {
        let policy = parse(&format!("version = 1\n[shell.profile.workspace]\nnetwork = {network}")).unwrap();
        assert_eq!(
            policy.shell.profiles["workspace"].network.value,
            Network::Allowlist { hosts: vec![], allow_private: vec![] }
        );
    }
}

#[test]
fn the_readonly_profile_stays_so() {
    says(
        "[shell.profile.readonly]\nwrite = ['@tmp', '@workspace']",
        "line 3: `write` in [shell.profile.readonly]: profile `readonly` cannot write @workspace; write `write = [\"@tmp\"]`, or use another profile: \
         plans are made under this one",
    );
    for mode in ["open", "allowlist"] {
        says(
            &format!("[shell.profile.readonly]\nnetwork = {{ mode = '{mode}' }}"),
            &format!(
                "line 3: profile `readonly` cannot have the network mode \"{mode}\"; write \"off\", or use another \
                 profile: plans are made under this one"
            ),
        );
    }
    assert!(
        parse("version = 1\n[shell.profile.readonly]\nwrite = []\nread = ['/opt']\nnetwork.mode = 'off'")
            .is_ok()
    );
}

#[test]
fn variables_that_run_code_are_refused_and_names_are_plain() {
    let at = "`pass` in [shell.profile.workspace.env]:";
    for (name, why) in [
        ("LD_PRELOAD", "the dynamic loader or the C library loads code by it"),
        ("GCONV_PATH", "the dynamic loader or the C library loads code by it"),
        ("BASH_ENV", "bash runs code by it"),
        ("BASH_FUNC_ls%%", "bash runs code by it"),
        ("PS4", "bash runs code by it"),
        ("IFS", "bash reads commands otherwise by it"),
        ("SHELLOPTS", "bash reads commands otherwise by it"),
    ] {
        let what = format!("variable \"{name}\" cannot be passed or set: {why}");
        profile_says(&format!("env.pass = ['{name}']"), &format!("{at} {what}; remove it"));
        profile_says(
            &format!("env.set = {{ '{name}' = '' }}"),
            &format!("`{name}` in [shell.profile.workspace.env.set]: {what}; remove it"),
        );
    }
    for name in ["", "1A", "A-B", "A=B", "É"] {
        profile_says(
            &format!("env.pass = ['{name}']"),
            &format!(
                "{at} \"{name}\" is not the name of a variable; write letters, digits and _, with no digit first"
            ),
        );
    }
    profile_says(
        "env.set = { A = \"x\\u0000\" }",
        "`A` in [shell.profile.workspace.env.set] has a NUL character; write it without",
    );
}

#[test]
fn names_of_profiles_are_plain() {
    for name in ["", "A", "a_b", "a b", &"a".repeat(65)] {
        let shown = crate::rule::shorten(name);
        says(
            &format!("[shell.profile.'{name}']"),
            &format!(
                "line 2: \"{shown}\" is not a valid profile name in [shell.profile]; write 1 to 64 of a-z, 0-9 and -"
            ),
        );
    }
}

#[test]
fn lists_are_bounded() {
    let hosts = "'a.b',".repeat(257);
    profile_says(
        &format!("network = {{ mode = 'allowlist', hosts = [{hosts}] }}"),
        "`hosts` in [shell.profile.workspace.network] has 257 entries; write at most 256",
    );
}

#[test]
fn services_are_few_and_never_of_plans() {
    let services: Vec<_> = (1..18).map(|port| format!("127.0.0.1:{port}")).collect();
    profile_says(
        &format!("local = {services:?}"),
        "`local` in [shell.profile.workspace] has 17 entries; write at most 16",
    );
    profile_says(
        "local = ['127.0.0.1:1', '127.0.0.1:1']",
        "`local` in [shell.profile.workspace] has \"127.0.0.1:1\" twice; write it once",
    );
    profile_says(
        "local = '127.0.0.1:1'",
        "`local` in [shell.profile.workspace] is the string \"127.0.0.1:1\"; write a list of services, such as [\"127.0.0.1:5432\"]",
    );
    says(
        "[shell.profile.readonly]\nlocal = ['127.0.0.1:1']",
        "line 3: profile `readonly` cannot have services of the machine; leave `local` out, or use another profile: \
         plans are made under this one",
    );
}

#[test]
fn published_ports_are_plain_and_never_of_plans() {
    let ports: Vec<_> = (2000..2017).collect();
    for (list, said) in [
        ("[80]", "is 80; write a number from 1024 to 65535"),
        ("[8080, 8080]", "has 8080 twice; write it once"),
        ("[3128]", "has 3128, which is the port of the proxy for commands; write another port"),
        (&format!("{ports:?}"), "has 17 entries; write at most 16"),
    ] {
        profile_says(&format!("publish = {list}"), &format!("`publish` in [shell.profile.workspace] {said}"));
    }
    says(
        "[shell.profile.readonly]\npublish = [8080]",
        "line 3: profile `readonly` cannot publish ports; leave `publish` out, or use another profile: plans are made \
         under this one",
    );
}

#[test]
fn profiles_are_bounded() {
    let text = (0..65).map(|n| format!("[shell.profile.p{n}]\n")).collect::<Vec<_>>().concat();
    says(&text, "line 66: [shell.profile] has 65 profiles; write at most 64");
}

#[test]
fn a_section_replaces_just_the_keys_it_gives() {
    let text = "version = 1\n[shell.profile.build]\nlimits = { memory = '8GiB' }\nenv.set = {}\n[shell]\nmin_tier = 'T1'";
    let policy = parse(text).unwrap();
    let builtin = Policy::builtin();
    let (build, before) = (&policy.shell.profiles["build"], &builtin.shell.profiles["build"]);
    assert_eq!((build.limits.memory, build.limits.processes), (8 << 30, 512));
    assert_eq!((build.origins.memory, build.origins.processes), (Source::Line(3), Source::Builtin));
    assert_eq!((build.origins.profile, build.origins.set), (Source::Line(2), Source::Line(4)));
    assert!(build.env.set.is_empty());
    assert_eq!((&build.env.pass, &build.network), (&before.env.pass, &before.network));
    assert_eq!((policy.shell.min_tier.value, policy.shell.min_tier.source), (Tier::T1, Source::Line(6)));
    assert_eq!(policy.shell.default_timeout.value, Duration::from_secs(30));
    assert_eq!(policy.shell.profiles["open"], builtin.shell.profiles["open"]);
}

#[test]
fn a_new_profile_begins_as_the_default_one_is() {
    let policy =
        parse("version = 1\n[shell.profile.aaa]\nread = []\n[shell.profile.workspace]\ndeny = ['keys']")
            .unwrap();
    let new = &policy.shell.profiles["aaa"];
    assert_eq!((new.name.as_str(), new.deny[0].glob(), new.write.len()), ("aaa", "keys", 2));
    assert!(new.read.is_empty());
}
