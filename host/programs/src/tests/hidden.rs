//! Texts in which bash starts programs that are not obvious.

use super::*;

/// Asserts that a rule about `git push` may cover each text.
fn may_push(texts: &[&str]) {
    for text in texts {
        let found = Found::in_text(text);
        let judged = ProgramPattern::parse("git push *").unwrap().judge(&found);
        assert_ne!(judged, Match::No, "{text}: {found:?}");
    }
}

#[test]
fn assignments_of_wrappers_may_be_quoted_and_have_any_name() {
    for text in [
        "env \"A=b\" git push",
        "env 'GIT_SSH_COMMAND=ssh -v' git push",
        "env A-B=c git push",
        "env -- A=b git push",
        "sudo \"A=b\" git push",
        "sudo -k git push",
    ] {
        assert_eq!(judged("git push", text), Match::Yes, "{text}");
        assert_eq!(found(text).1, None, "{text}");
    }
    doubts("env 'PATH=.' ls", "a change of PATH");
    doubts("env 'BASH_FUNC_ls%%=() { git push; }' bash -c ls", "a change of BASH_FUNC_ls%%");
    may_push(&["sudo -- A=b git push", "env \"$x=b\" push", "sudo /a=b push"]);
}

#[test]
fn options_of_wrappers_that_are_not_listed_are_unknown() {
    for text in [
        "env -iS'git push'",
        "env -iS 'git push'",
        "env --split='git push'",
        "env --chdi . git push",
        "timeout --sig KILL 5 git push",
        "timeout -sz$x git push",
        "nice --adj 5 git push",
        "sudo -Hi git push",
        "sudo --log git push",
        "sudo -h x git push",
        "flock -nc 'git push'",
        "flock x -c 'git push'",
        "xargs -i git {}",
        "xargs --replace git {}",
        "xargs -l git",
        "xargs -I{} -n1 git {}",
        "x=-v; timeout \"$x\" 5 git push",
        "stdbuf -z git push",
        "command -pv git push",
    ] {
        assert!(found(text).1.is_some(), "{text}: {:?}", found(text));
    }
    may_push(&[
        "echo push | xargs -I{} git {}",
        "echo push | xargs -I% git %",
        "echo git | xargs -I% % push",
        "echo push | xargs -I {} sh -c 'git {}'",
    ]);
}

#[test]
fn programs_that_start_others_in_other_ways_are_unknown() {
    may_push(&[
        "taskset 1 git push",
        "setpriv git push",
        "strace git push",
        "unshare git push",
        "ssh-agent git push",
        "chroot / git push",
        "systemd-run --user git push",
        "dbus-run-session git push",
        "tmux new -d 'git push'",
        "awk 'BEGIN{system(\"git push\")}'",
        "gawk 'BEGIN{\"git push\" | getline}'",
        "awk -f x",
        "awk \"$x\"",
        "zsh -c 'x'",
        "yash -c 'git push'",
        "git-push",
    ]);
}

#[test]
fn options_of_shells_and_git_that_are_not_listed_are_unknown() {
    may_push(&[
        "bash -oc pipefail 'git push'",
        "bash -O extglob -c 'ls'",
        "bash -o posix -c 'ls'",
        "bash -ic p",
        "bash --rcfile x -c p",
        "bash +c 'git push'",
        "git --shallow-file x push",
        "git --no-lazy-fetch push",
        "git --something push",
        "git --exec-path=. x",
        "git -c include.path=x y",
        "git config alias.x push; git x",
        "git for-each-repo --config=a push",
        "git rebase --exe 'git push'",
        "git rebase -ix 'git push' a",
        "git submodule \"$x\" 'git push'",
    ]);
    assert_eq!(judged("git push", "git \"$x\" push"), Match::Unknown);
}

#[test]
fn changes_of_decisive_variables_are_found_in_every_place() {
    may_push(&[
        "export \"PATH=$PWD:$PATH\"; ls",
        "declare 'PATH=.'; ls",
        "export \"$x=.\"; ls",
        "PATH+=:. ls",
        "PATH[0]=. ; ls",
        "readonly PATH=.; ls",
        "for PATH in $PWD; do ls; done",
        "select PATH in .; do ls; done",
        "read PATH <<< $PWD; ls",
        "read -aPATH <<< $PWD; ls",
        "printf -v PATH %s $PWD; ls",
        "printf -vPATH %s $PWD; ls",
        "declare -n x=PATH; x=$PWD; ls",
        "unset PATH",
        "mapfile PATH <x",
        "getopts a PATH",
        "((PATH=1)); ls",
        "let PATH=1; ls",
        "echo ${PATH:=.}; ls",
        "echo \"${!x:=.}\"; ls",
        "{PATH}>x ls",
        "BASH_CMDS[ls]=/usr/bin/git; ls push",
        "set -o posix\nBASH_ALIASES[foo]='git push'\nfoo",
        "GIT_CONFIG_COUNT=1 git x",
        "PS4='$(git push)'; set -x; ls",
        "GIT_EDITOR='git push' git commit",
        "PAGER=\"$x\" git log",
        "export GIT_SSH_COMMAND='git push'",
        "env EDITOR='sh -c \"git push\"' crontab -e",
        "git -c core.pager='git push' log",
        "git -c pager.log='git push' log",
        "git -c core.sshCommand='git push' fetch",
        "set -H; ls",
    ]);
}

#[test]
fn texts_that_builtins_evaluate_are_unknown() {
    may_push(&[
        "x='$(git push)'; echo \"${x@P}\"",
        "x='a[$(git push)]'; echo $((x))",
        "x='a[$(git push)]'; ((x))",
        "x='a[$(git push)]'; [[ x -eq 1 ]]",
        "x='a[$(git push)]'; echo ${y:x}",
        "let 'a[$(git push)]=1'",
        "declare -i x='a[$(git push)]'",
        "test -v 'a[$(git push)]'",
        "printf -v 'a[$(git push)]' x",
        "read 'a[$(git push)]'",
        "unset 'a[`git push`]'",
        "mapfile -tC 'git push #' -c1 <<< x",
        "compgen -C 'git push' x",
        "jobs -x git push",
        "hash -rp /usr/bin/git ls; ls push",
        "trap -- '-x; git push' EXIT",
        "shopt -s \"$x\"",
        "x=-exec; find . -maxdepth 0 \"$x\" git push ';'",
    ]);
}

#[test]
fn commands_in_values_that_bash_evaluates_are_unknown() {
    may_push(&[
        "declare -a 'x=($(git push))'",
        "declare -A 'x=([a]=$(git push))'",
        "declare -x -a \"x=(\\$(git push))\"",
        "typeset -a 'x=($(git push))'",
        "readonly -a 'x=(`git push`)'",
        "f() { local -a 'x=($(git push))'; }; f",
        "export 'x=($(git push))'",
        "x=(); declare 'x=($(git push))'",
        "y='($(git push))'; declare -a \"x=$y\"",
        "declare -a x=$'(\\x24(git push))'",
        "declare -a x=$'(\\44\\u0028git push))'",
        "declare -a x=$'(\\x{24}(git push))'",
        "declare -a x=$'(\\x{FFFFFFFFFF24}(git push))'",
        "RANDOM='a[$(git push)0]'",
        "RANDOM='a[0+$(git push)]'",
        "RANDOM='a['\\$\\('git push)0]'",
        "OPTIND='a[`git push`0]'",
        "HISTCMD='a[$(git push)0]'",
        "SECONDS='a[$(git push)0]'",
        "BASH_ARGV0='a[$(git push)0]'",
        "y='$(git push)'; RANDOM=\"a[$y]\"",
        "for RANDOM in 'a[0+$(git push)]'; do :; done",
        "x='a[0+$(git push)]'; ((x))",
        "x='a[0+$(git push)]'; echo $((x))",
        "((a['$(git push)0']))",
        ": ${a['$(git push)0']}",
        ": ${a[\"\\$(git push)0\"]}",
        ": \"${a[\\$(git push)0]}\"",
        "a['$(git push)0']=1",
        "a=(['$(git push)0']=1)",
        "a=([0\\$(git push)]=1)",
        "[[ -v 'a[0+$(git push)]' ]]",
        "test -v 'a[0+$(git push)]'",
        "let 'a[0+$(git push)]=1'",
        "printf -v 'a[0+$(git push)]' x",
        "printf -v RANDOM %s 'a[0+$(git push)]'",
        "read 'a[0+$(git push)]'",
        "unset 'a[0+`git push`]'",
        "x='a[0+$(git push)]'; echo \"${!x}\"",
        "f() { ((x=$1)); }; f 'a[0+$(git push)]'",
        "function f { ((x=$1)); }; f 'a[0+$(git push)]'",
        "set -- 'a[0+$(git push)]'; ((x=$1))",
        "bash -c '((x=$1))' _ 'a[0+$(git push)]'",
        "printf -v x '%b' 'a[\\x24(git push)]'; ((x))",
        "printf -v x '%b' 'a[\\0044(git push)]'; ((x))",
        "read x <<< 'a[0+$(git push)]'; ((x))",
    ]);
}

#[test]
fn values_that_nothing_evaluates_are_data() {
    for text in [
        "x='$(git push)'; echo \"$x\"",
        "declare -a 'x=(a b)'; declare y=1",
        "if [[ -n $(date) ]]; then echo '$(git push)'; fi",
        "bash -c 'if [[ -n $(date) ]]; then ls; fi'",
        "f() { ls \"$1\"; }; f '$(git push)'",
        "x=y; [[ ${x} ]] && grep '$(' file",
        "RANDOM=42; echo $'\\033[1m'; awk '{print $1}' x",
        "re='^[a-z]+$'; [[ $x =~ $re ]]",
        "a=([0]=x [1]=\"$(date)\"); a[2]='y'",
    ] {
        assert_eq!((judged("git push *", text), found(text).1), (Match::No, None), "{text}");
    }
}

#[test]
fn commands_in_words_that_are_patterns_or_lists_are_found() {
    may_push(&[
        r"let x=a[\$\(git\ push\)]",
        r"let a[\$\(git\ push\)]",
        r"printf -va[\$\(git\ push\)] x",
        r"printf -v a[\$\(git\ push\)] x",
        r"test -v a[\$\(git\ push\)]",
        r"[ -v a[\$\(git\ push\)] ]",
        r"[[ -v a[\$\(git\ push\)] ]]",
        r"unset a[\$\(git\ push\)]",
        r"read a[\$\(git\ push\)] <<< x",
        r"declare a[\$\(git\ push\)]=1",
        r"export a[\$\(git\ push\)]=1",
        r"x=a[\$\(git\ push\)]; echo $((x))",
        r"x=a[\$\(git\ push\)]; let x",
        r"x=a[\`git\ push\`]; echo $((x))",
        r"x=a[\$\(git\ push\)]; [[ x -eq 1 ]]",
        r"for x in a[\$\(git\ push\)]; do echo $((x)); done",
        r"set -- a[\$\(git\ push\)]; echo $(($1))",
        r"f() { echo $(($1)); }; f a[\$\(git\ push\)]",
        r"f() { echo $(($1)); }; f a{[,}\$\(git\ push\)]",
        r"wait -n -p a[\$\(git\ push\)]",
        r"RANDOM=a[\$\(git\ push\)]",
        r"declare -i y=a[\$\(git\ push\)]",
        r"y=(a[\$\(git\ push\)]); echo $((y))",
        r"[[ a[\$\(git\ push\)] -eq 1 ]]",
        r"echo ${x:=a[\$\(git\ push\)]}; echo $((x))",
        r"echo $((a[\$\(git push\)]))",
        r"read x <<< a[\$\(git\ push\)]; echo $((x))",
        r"read x <<< a[\$\(git\ push\)]b; echo $((x))",
        r"printf -v x %s a[\$\(git\ push\)]; echo $((x))",
        r"printf -v x %s a[\$\(git\ push\)] ; let x",
        r": a[\$\(git\ push\)]; echo $((_))",
        r": a[0+\$\(git\ push\)]; echo $((_))",
        r": 'a[$(git push)]'; echo $((_))",
        r": 'a[0+$(git push)]'; let _",
        r"echo 'a[0+$(git push)]' > z; read x < z; echo $((x))",
        r"echo a[0+\$\(git\ push\)] > z; read x < z; echo $((x))",
        r"echo 'a[0+\x24(git push)]' > z; read x < z; echo $((x))",
        r"x=$(echo 'a[$(git push)]'); echo $((x))",
        r"x=$(printf %s a[\$\(git\ push\)]); echo $((x))",
        "x=$(cat <<'X'\na[0+$(git push)]\nX\n); echo $((x))",
        "read x <<'X'\na[0+$(git push)]\nX\necho $((x))",
        "read x <<X\na[\\$(git push)]\nX\necho $((x))",
        "read x <<X\na[\\$\\\n(git push)]\nX\necho $((x))",
        "mapfile -t x <<'X'\na[$(git push)]\nX\necho $((x))",
        r"x=$'a[$'\(git\ push\)]; echo $((x))",
        r"x=a[\$$'(git push)]'; echo $((x))",
        r"x=a[\$$y\(git\ push\)]; echo $((x))",
        r"set -- a[\$\(git\ push\)]$y; echo $(($1))",
        r"set -- a[\$\(git\ push\)]`ls`; echo $(($1))",
        r"set -- {a[\$\(git\ push\)],b}; echo $(($1))",
        r"exec {a[\$\(git\ push\)]}>/dev/null",
        r"{a[\$\(git\ push\)]}>/dev/null ls",
    ]);
}

#[test]
fn patterns_and_lists_without_commands_are_data() {
    for text in [
        "ls [a-z]*; ((i++))",
        "[ -f x ] && ((i++))",
        "[ \"$x\" = \"$(date)\" ]; ((i++))",
        "[[ $x == [a-z]* && -n $(date) ]] || ls {a,b}[0-9].txt",
        "[[ $x =~ ^(a|b)$ && ( -f y ) ]] && ls",
        "arr[0]=1; arr[i+1]+=2; echo ${arr[0]} $((arr[1] + 1))",
        "for f in src/[a-c]*.{rs,toml}; do ((n++)); done; cp a{,.bak}",
        "cp x{1..3} y/; [[ -d y ]] && grep -n 'a[^b]*' x | sed 's/[a-z]*$//' > $(mktemp)",
        "grep 'v[0-9]*' x; y=$(date); ((n++))",
        "if [[ -f x ]]; then cat > x <<EOF\nnow=\\$(date)\nEOF\nfi",
        "awk '{ a[$1] = $(NF) } END { print a[1] }' x; ((n++))",
        "echo ${x:-none} ${y#*[a-z]}; ((n++))",
        "((n++)); echo {a,b}>x",
    ] {
        assert_eq!((judged("git push *", text), found(text).1), (Match::No, None), "{text}");
    }
}

#[test]
fn values_of_variables_that_name_commands_are_read() {
    may_push(&[
        "LESSOPEN='|git push' less x",
        "LESSCLOSE='git push' less x",
        "env SUDO_EDITOR='git push' sudoedit x",
        "export GH_BROWSER='git push'",
        "RSYNC_RSH='git push' rsync a b:",
        "SYSTEMD_PAGER='git push' systemctl",
    ]);
}

#[test]
fn constructs_end_where_bash_ends_them() {
    may_push(&[
        "time -p\tgit push",
        "time -- git push",
        "time -\\\np git push",
        "[[ (-n a)]] && git push && [[ -n b ]]",
        "[[ a ]\\\n] && git push; [[ b ]]",
        "!\\\n git push",
        "coproc\\\n git push",
        "i\\\nf git push; then :; fi",
        "{\\\n git push; }",
        "(\\\n( 1 << A ))\ngit push\nA\n",
        "echo \"$\\\n(git push)\"",
        "git {--namespace=\"x\n\",push} origin",
        "git {--namespace='x\n',push} origin",
        "env {A=\"\n\",git} push",
        "touch push; git pus[h' ']",
        "for x in a #'\ndo git push; done; #'\ndo ls; done",
        "cat <<-EOF\nEO\\\n\tF\ncat <<'X'\nEOF\ngit push\nX\n",
        "cat <<-EOF\n\\\n\tEOF\ngit push\nEOF\n",
    ]);
}
