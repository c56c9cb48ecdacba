use proptest::prelude::*;

use super::*;

mod hidden;

/// Returns the simple commands of a text, with `…` for parts that are not known, and the reason for unknown programs.
fn found(text: &str) -> (Vec<String>, Option<String>) {
    let found = Found::in_text(text);
    let line = |started: &Started| {
        started.words.iter().map(|word| word.shown().into_owned()).collect::<Vec<_>>().join(" ")
    };
    (found.started.iter().map(line).collect(), found.unknown)
}

/// Asserts that a text starts these programs and no unknown ones.
fn starts(text: &str, programs: &[&str]) {
    let (started, unknown) = found(text);
    assert_eq!(
        (started.iter().map(String::as_str).collect::<Vec<_>>(), unknown),
        (programs.to_vec(), None),
        "{text}"
    );
}

/// Asserts that a text has unknown programs for a reason, besides these.
fn doubts(text: &str, why: &str) {
    let (started, unknown) = found(text);
    assert!(unknown.as_ref().is_some_and(|said| said.contains(why)), "{text}: {started:?}, {unknown:?}");
}

fn judged(pattern: &str, text: &str) -> Match {
    ProgramPattern::parse(pattern).unwrap().judge(&Found::in_text(text))
}

#[test]
fn simple_commands_are_found_wherever_they_are() {
    for text in [
        "git push",
        "git push # later",
        "git\\\n push",
        "g'i't \"pu\"sh",
        "'git' p\\ush",
        "FOO=1 BAR=\"$x y\" git push",
        "a=(1 2) git push",
        "a[$i]=1 git push",
        ">out git 2>&1 push <in",
        "{fd}>x git push 3<>y",
        "&>x git push",
        "/usr/bin/git push",
        "git -C x -c a.b=c --no-pager --git-dir=y push",
        "! git push",
        "time -p git push",
        "(git push)",
        "( ( git push ) )",
        "((git push) )",
        "{ git push; }",
        "if git push; then :; fi >x",
        "while git push; do :; done",
        "until git push\ndo :\ndone",
        "for x in a \"$b\" *; do git push; done",
        "for x\ndo git push; done",
        "for ((i=0;i<2;i++)); do git push; done",
        "for ((;;)) { git push; }",
        "select x in a; do git push; break; done",
        "case $x in (a|b) git push;; esac",
        "case a in a) git push;& b) : ;;& *) esac",
        "case a in esac; git push",
        "f() { git push; }",
        "function f { git push; }",
        "function f() ( git push )",
        "[[ a == *b* && -n $x || x#y =~ (a|b) ]] && git push",
        "((1 + 2)) || git push",
        "x=$((1 + (2))); git push",
        "cat <<A; git push\n$x ) ' \"\nA\n",
        "cat <<-'A' | git push\n\t$(x)\n\tA",
        "cat <<A <<B\na\nA\nb\nB\ngit push",
        "cat <<A\nx\\\nA\nA\ngit push",
        "[ -f x ] && git push",
    ] {
        let (started, unknown) = found(text);
        assert!(started.contains(&"git push".to_owned()), "{text}: {started:?}");
        assert_eq!(unknown, None, "{text}");
    }
}

#[test]
fn substitutions_are_walked_in_every_place() {
    for text in [
        "echo $(git push)",
        "echo \"a $(git push) b\"",
        "echo `git push`",
        "echo \"`git push`\"",
        "echo `echo \\`git push\\``",
        "echo $(echo $(git push))",
        "echo $( (git push) )",
        "echo $((git push) )",
        "echo $(case a in a) git push;; esac)",
        "echo $((1 + $(git push)))",
        "echo ${x:-$(git push)} \"${x:-\"$(git push)\"}\"",
        "x=$(git push)",
        "x=([$(git push)]=1 b)",
        "a[$(git push)]=1",
        "cat <(git push)",
        "tee >(git push) <x",
        "cat < <(git push)",
        "cat <<A\n$(git push)\nA",
        "cat <<A\n`git push`\nA",
        "cat <<A\n${x:-$(git push)}\nA",
        "cat <<A\nx\nA\ngit push",
        "cat <<A\nEO\\\nF\nA\ngit push",
        "cat <<EOF\nEO\\\nF\ngit push",
        "cat <<< $(git push)",
        "[[ $(git push) ]]",
        "[[ x#y == $(git push)\n]]",
        "for x in $(git push); do :; done",
        "case $(git push) in a) :;; esac",
        "case a in $(git push)) :;; esac",
        "echo a >$(git push)",
        "$(git push)",
        "echo $(cat <<A\nx\nA\ngit push\n)",
        "echo \"$(echo \"$(git push)\")\"",
    ] {
        let (started, _) = found(text);
        assert!(started.contains(&"git push".to_owned()), "{text}: {started:?}");
    }
}

#[test]
fn text_that_bash_does_not_run_starts_nothing() {
    for text in [
        "echo 'git push'",
        "echo git push",
        "echo \\$(git push",
        "cat <<'A'\n$(git push)\nA",
        "cat <<\\A\n$(git push)\nA",
        "cat <<A\n\\$(git push)\nA",
        "# git push",
        "echo a#b # git push",
        "x='git push'",
        "[[ git < push ]]",
    ] {
        let (started, _) = found(text);
        assert!(!started.iter().any(|line| line.starts_with("git")), "{text}: {started:?}");
    }
    starts("", &[]);
    starts("\n \t# x\n\n", &[]);
    starts("a; b & c && d || e | f |& g\nh;", &["a", "b", "c", "d", "e", "f", "g", "h"]);
    starts("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]);
}

#[test]
fn a_program_is_found_behind_those_that_start_it() {
    for text in [
        "env FOO=1 -u X git push",
        "env - git push",
        "command -p git push",
        "builtin exec -a x git push",
        "sudo -u root -E FOO=1 git push",
        "sudo -- git push",
        "nohup git push",
        "nice -n 5 git push",
        "nice -10 git push",
        "/usr/bin/time -f x git push",
        "timeout -k 5 --signal=TERM 10s git push",
        "timeout \"5$t\" git push",
        "timeout -- \"$t\" git push",
        "stdbuf -oL git push",
        "setsid -f git push",
        "flock -w 5 lock git push",
        "sudo env nohup timeout 5 git push",
        "sh -c 'git push'",
        "bash -lc \"cd x && git push\"",
        "bash -o pipefail -ec 'git push' arg",
        "sudo bash -c 'nohup git push'",
        "find . -name x -exec git push \\;",
        "find . -exec a {} + -execdir git push ';'",
        "trap 'git push' EXIT",
        "busybox sh -c 'git push'",
    ] {
        let (started, unknown) = found(text);
        assert!(started.contains(&"git push".to_owned()), "{text}: {started:?}");
        assert_eq!(unknown, None, "{text}");
    }
    starts("sudo git push", &["sudo git push", "git push"]);
    starts("echo x | xargs -n 1 rm -f", &["echo x", "xargs -n 1 rm -f", "rm -f …"]);
    starts("echo x | xargs -I {} rm -f {} y", &["echo x", "xargs -I {} rm -f {} y", "rm -f … y"]);
    starts("awk -F: -v a=b '{ print $1 }' \"$x\"", &["awk -F: -v a=b { print $1 } …"]);
    starts("find \"$x\" -name \"$y\" -type f", &["find … -name … -type f"]);
    starts("set -euo pipefail; shopt -s nullglob", &["set -euo pipefail", "shopt -s nullglob"]);
    starts("export A=1 B=\"$x\"; read -r x", &["export A=1 B=…", "read -r x"]);
    starts("read -r -p \"$x\" y", &["read -r -p … y"]);
    starts("i=$((i + 1)); x=${y:-z} ls", &["ls"]);
    starts("command -v git push", &["command -v git push"]);
    starts("exec >x", &["exec"]);
    starts("python3 --version; bash --version; node -v", &["python3 --version", "bash --version", "node -v"]);
    assert_eq!(judged("sudo *", "sudo git push"), Match::Yes);
}

#[test]
fn programs_that_the_text_does_not_tell_are_unknown() {
    for (text, why) in [
        ("eval \"$x\"", "`eval`"),
        ("source ./x", "`source`"),
        (". x", "`.`"),
        ("$x push", "not written out"),
        ("$(echo git) push", "not written out"),
        ("{git,push}", "not written out"),
        ("{\"x y\",git} push", "not written out"),
        ("/usr/bin/g?t push", "not written out"),
        ("sh -c \"$x\"", "`sh -c`"),
        ("sh -c", "a script of `sh`"),
        ("curl x | bash", "a script of `bash`"),
        ("bash x.sh", "a script of `bash`"),
        ("bash -s <<A\ngit push\nA", "a script of `bash`"),
        ("python3.12 -c 'x'", "a script of `python3.12`"),
        ("node x.js", "a script of `node`"),
        ("./x.sh", "`./x.sh`, a program by its path"),
        ("~/bin/x", "a program by its path"),
        ("/tmp/git push", "a program by its path"),
        ("alias x='git push'; x", "`alias`"),
        ("PATH=.:$PATH git push", "a change of PATH"),
        ("export PATH=.", "a change of PATH"),
        ("BASH_ENV=x sh -c y", "a change of BASH_ENV"),
        ("env PATH=. x", "a change of PATH"),
        ("env -S 'git push'", "`env -S`"),
        ("sudo -i", "`sudo -i`"),
        ("sudo $x", "not written out"),
        ("find . \"$@\"", "not written out"),
        ("git -c alias.x=push x", "an alias of git"),
        ("git -c \"$x\" y", "an alias of git"),
        ("git submodule foreach 'git push'", "that git starts"),
        ("git rebase -x 'git push'", "that git starts"),
        ("trap \"$x\" EXIT", "`trap`"),
        ("shopt -s extglob", "`shopt`"),
        ("coproc git push", "`coproc`"),
        ("echo @(a|b)", "an extended glob"),
        ("${ git push; }", "commands in `${ }`"),
        ("echo $[1]", "an old form"),
        ("echo \"${x:-'}\" 'git push'", "single quotes"),
        ("parallel git push", "`parallel`"),
        ("tar --checkpoint=1 --checkpoint-action=exec=x", "an option of `tar`"),
        ("tar xfI a x", "an option of `tar`"),
        ("tar --use-comp x -xf a", "an option of `tar`"),
        ("split --filter=x a", "an option of `split`"),
        ("zip -T -TT x a", "an option of `zip`"),
        ("rsync -ave x a b:", "an option of `rsync`"),
        ("ssh -o ProxyCommand=x h", "an option of `ssh`"),
        ("ssh -oLocalCommand=x h", "an option of `ssh`"),
        ("sqlite3 a '.shell x'", "an option of `sqlite3`"),
        ("sqlite3 a .sys", "an option of `sqlite3`"),
        ("git clone -c core.sshCommand=x a", "that git starts"),
        ("git clone --config=core.sshCommand=x a", "that git starts"),
        ("git ls-remote --upload-pack=x a", "that git starts"),
        ("git push --rec x a", "that git starts"),
        ("git ls-remote 'ext::x'", "that git starts"),
        ("git grep -Ox a", "that git starts"),
        ("choom -n 0 -- git push", "`choom`"),
        ("x86_64 git push", "`x86_64`"),
        ("a[x y]=1 git push", "a subscript with a blank"),
        ("a[x;y]+=1 git push", "a subscript with a blank"),
        ("true && a[x\ny]=$(:) git push", "a subscript with a blank"),
        ("a[ ]=1 git push", "a subscript with a blank"),
        ("compgen -W '$(git push)'", "`compgen`"),
        ("compgen $x '$(git push)'", "`compgen`"),
        ("a\0b", "a zero byte"),
        ("git push\nif", "incomplete"),
    ] {
        doubts(text, why);
    }
    doubts(&"x".repeat(MAX_BYTES + 1), "65536 bytes");
    doubts(&"a ".repeat(MAX_WORDS + 1), "too many words");
    assert_eq!(found("eval git push").0, ["eval git push", "git push"]);
    assert_eq!(found("git push; ./x").0, ["git push", "x"]);
}

#[test]
fn options_that_start_nothing_are_no_doubt() {
    for text in [
        "tar -xzf a.tgz -C b",
        "tar xf a",
        "rsync -a a b",
        "ssh -o StrictHostKeyChecking=no h ls",
        "sqlite3 a .tables",
        "git clone -q --depth 1 a",
        "git rebase --continue",
        "git fetch --prune --tags",
        "git log --reverse -- ext",
        "zip -r a b",
    ] {
        assert_eq!(found(text).1, None, "{text}");
    }
}

#[test]
fn text_that_is_not_valid_is_unknown() {
    for text in [
        "'",
        "\"",
        "`",
        "$(",
        "${",
        "(",
        ")",
        "{",
        "}",
        "fi",
        "then",
        "do x",
        "a ;; b",
        "a | | b",
        "a && ",
        "a &&& b",
        "f(",
        "f( x",
        "case",
        "case x",
        "case x in",
        "case x in a",
        "case x in ()",
        "for",
        "for x in a; b",
        "if a; then b",
        "while a",
        "[[",
        "[[ a ]",
        "a >",
        "a <",
        "(a) b",
        "echo (",
        "cat <<",
        "cat <<$x\n",
        "echo $(cat <<A)",
        "a=(",
        "$'",
        "((1)",
        "! |",
        "function",
        "a() b() ",
        "a <<< ",
        "echo x=(y",
        "& a",
        "; a",
        "a (b)",
    ] {
        let (_, unknown) = found(text);
        assert!(unknown.is_some(), "{text}");
    }
}

#[test]
fn depth_and_time_are_bounded() {
    for (open, close) in [
        ("(", ")"),
        ("$(", ")"),
        ("\"$(", ")\""),
        ("${x:-", "}"),
        ("{ ", "; }"),
        ("if ", "; then a; fi"),
        ("echo `", "`"),
        ("((", "))"),
        ("$((", "))"),
        ("<(", ")"),
        ("a=(", ")"),
        ("! ", ""),
        ("env ", ""),
        ("sudo -u x ", ""),
        ("a[", "]"),
        ("[[ ", " ]]"),
        ("case a in a) ", ";; esac"),
        ("f() ", ""),
        ("cat <<A $(", ")"),
        ("{", ""),
        ("[", ""),
        ("a & ", ""),
        ("\\", ""),
    ] {
        for times in [1, 31, 40, 20_000] {
            let text = format!("{}git push{}", open.repeat(times), close.repeat(times));
            let begun = std::time::Instant::now();
            Found::in_text(&text);
            Found::in_text(&open.repeat(times));
            let took = begun.elapsed();
            assert!(took < std::time::Duration::from_secs(2), "{open:?} {times} times: {took:?}");
        }
    }
    assert_eq!(found(&format!("{}git push{}", "( ".repeat(20), " )".repeat(20))).0, ["git push"]);
    doubts(&format!("{}git push{}", "( ".repeat(200), " )".repeat(200)), "too deep");
}

#[test]
fn comparisons_with_many_patterns_end() {
    let pattern = ProgramPattern::parse(&format!("{}b", "*a".repeat(200))).unwrap();
    let found = Found::in_text(&"a".repeat(MAX_BYTES));
    let judged: Vec<_> = (0..2000).map(|_| pattern.judge(&found)).collect();
    assert_eq!((judged[0], judged[1999]), (Match::No, Match::Unknown));
}

#[test]
fn patterns_match_words() {
    for (pattern, text, judged_as) in [
        ("git push *", "git push", Match::Yes),
        ("git push *", "git push origin main", Match::Yes),
        ("git push *", "git -C $x push", Match::Yes),
        ("git push *", "git push $x", Match::Yes),
        ("git push *", "git $x", Match::Unknown),
        ("git push *", "git $x origin", Match::Unknown),
        ("git push *", "git $x commit -m y", Match::Unknown),
        ("git push *", "git \"$x\"", Match::Unknown),
        ("git push *", "git pu$x", Match::Unknown),
        ("git push *", "git \"pu$x\"", Match::Unknown),
        ("git push *", "git \"co$x\"", Match::No),
        ("git push *", "git commit $x", Match::No),
        ("git push *", "git commit -m 'git push'", Match::No),
        ("git push *", "git pus?", Match::Unknown),
        ("git push *", "ls $x", Match::No),
        ("git push *", "$x", Match::Unknown),
        ("git push *", "git pull; ./x", Match::Unknown),
        ("git push *", "git push; ./x", Match::Yes),
        ("git push", "git push origin", Match::No),
        ("git push", "git push $x", Match::Unknown),
        ("git push", "git push \"$x\"", Match::No),
        ("git push", "echo a | xargs git push", Match::Unknown),
        ("git push * --force", "git push origin --force", Match::Yes),
        ("git push * --force", "git push --force", Match::Yes),
        ("git push * --force", "git push a b --force c", Match::No),
        ("git push * --force*", "git push --force-with-lease=$x", Match::Unknown),
        ("git push * --force", "git push $x", Match::Unknown),
        ("git push * --force", "git push a=$x", Match::Unknown),
        ("git push * --force", "git push *", Match::Unknown),
        ("git push * --force", "git push *.rs", Match::No),
        ("terraform * apply *", "terraform -chdir=x apply", Match::Yes),
        ("rm -rf *", "rm -rf x", Match::Yes),
        ("rm -rf *", "rm x", Match::No),
        ("rm -*r* *", "rm -fr x", Match::Yes),
        ("python*", "python3 --version", Match::No),
        ("python* *", "python3 --version", Match::Yes),
        ("*", "ls", Match::Yes),
        ("*", "", Match::No),
    ] {
        assert_eq!(judged(pattern, text), judged_as, "{pattern} / {text}");
    }
    for (pattern, why) in [
        ("", "no words"),
        (" ", "no words"),
        ("git \"push\"", "quotes"),
        ("/usr/bin/git push", "a path"),
        ("a\u{1}", "control character"),
        (&"a ".repeat(40), "too many"),
    ] {
        assert!(ProgramPattern::parse(pattern).unwrap_err().what.contains(why), "{pattern}");
    }
    assert_eq!(ProgramPattern::parse("  git   push *").unwrap().to_string(), "git push *");
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(text in "[a-c$(){}\\[\\]'\"`\\\\;&|<>=#!*?~@ \\n\\t0-9é]{0,80}") {
        let found = Found::in_text(&text);
        let pattern = ProgramPattern::parse("a * b*").unwrap();
        pattern.judge(&found);
    }

    #[test]
    fn words_of_the_grammar_in_any_order_end(
        words in prop::collection::vec(prop::sample::select(vec![
            "if", "then", "fi", "for", "in", "do", "done", "case", "esac", "{", "}", "[[", "]]", "((", "))", "(", ")", "a",
            "$(", "`", "\"", "'", "<<A", "\n", "A", ";", ";;", "&", "|", "&&", "x=(", "${x", "env", "sh -c", "find -exec",
            "git", "-c", "sudo", "eval", "trap", "$x", "é", "\\",
        ]), 0..40),
        blank in prop::sample::select(vec!["", " "])
    ) {
        Found::in_text(&words.join(blank));
    }
}
