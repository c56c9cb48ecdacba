//! A command has no privileges over the machine, gains none, and reaches little of the kernel.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

use scorpiox_sandbox::Tier;

use crate::bed::{Bed, command, for_each_tier, set_mode};

/// User that owns nothing.
const NOBODY: u32 = 65534;

/// State of the machine that commands try to change.
const STATE: [&str; 8] = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/domainname",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/vm/overcommit_memory",
    "/proc/swaps",
    "/proc/self/mountinfo",
];

/// Files that attacks open for writing.
const SWITCHES: [&str; 21] = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/kernel/ns_last_pid",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/keys/maxkeys",
    "/proc/sys/kernel/shmmax",
    "/proc/sys/fs/binfmt_misc/register",
    "/proc/sys/fs/mqueue/queues_max",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/vm/drop_caches",
    "/proc/sysrq-trigger",
    "/proc/kcore",
    "/proc/mtrr",
    "/proc/irq/default_smp_affinity",
    "/sys/kernel/uevent_helper",
    "/sys/power/state",
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/kernel/mm/transparent_hugepage/enabled",
];

fn state() -> Vec<String> {
    STATE.iter().map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
}

/// Runs one kind of attack, and checks that the machine is unchanged.
fn attack_in(bed: &mut Bed, which: &str) {
    bed.arm("kernel");
    let before = state();
    let finished = bed.run(&format!("./kernel {which}"));
    assert_eq!(state(), before, "the machine was changed");
    finished.assert_nothing_escaped();
}

#[test]
fn no_rights_are_left_and_none_can_be_got() {
    for_each_tier(|bed| attack_in(bed, "rights"));
}

#[test]
fn no_process_of_a_command_has_capabilities() {
    for_each_tier(|bed| {
        let mut running = bed.start("sleep 30 & sleep 30");
        for pid in bed.processes_when(3) {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
            let field = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
                line.trim().to_owned()
            };
            // Without capabilities to drop, the bounding set keeps its contents, but has no effect.
            let bounded = bed.tier != Tier::T2 || rustix::process::getuid().is_root();
            for set in
                ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"].iter().chain(bounded.then_some(&"CapBnd:"))
            {
                assert_eq!(field(set), "0000000000000000", "{set}");
            }
            assert_eq!(field("NoNewPrivs:"), "1");
            assert_eq!(field("Seccomp:"), "2");
        }
        running.stop(false);
        crate::bed::finish(&mut running);
    });
}

#[test]
fn programs_of_other_users_run_as_oneself() {
    if !rustix::process::getuid().is_root() {
        eprintln!("nothing to test: only root makes programs of other users");
        return;
    }
    for_each_tier(|bed| {
        for name in ["setuid", "capable"] {
            bed.arm_as("kernel", name);
        }
        let (other, capable) = (bed.at("setuid"), bed.at("capable"));
        chown(&other, Some(NOBODY), Some(NOBODY)).expect("an owner");
        set_mode(&other, 0o6755);
        // Version 2, effective, and all capabilities permitted.
        let all = [1, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 1, 0, 0, 0, 0, 0, 0];
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(&capable, "security.capability", &all, flags).expect("capabilities");
        let control = command(&other).arg("who").output().expect("a program");
        let control = String::from_utf8_lossy(&control.stdout).into_owned();
        assert!(control.contains("effective 65534:65534"), "it changes nobody: {control}");
        let finished =
            bed.run("./setuid who; ./capable who; umask 0; cp setuid copy; chmod 6755 copy; ./copy who");
        let own = format!(
            "effective {}:{}, without capabilities",
            rustix::process::getuid().as_raw(),
            rustix::process::getgid().as_raw()
        );
        let answers: Vec<_> = finished.text.lines().filter(|line| line.starts_with("effective")).collect();
        // A program with file capabilities beyond the possible ones may fail to start.
        assert!(answers.len() >= 2 && answers.iter().all(|answer| *answer == own), "{answers:?}");
    });
}

#[test]
fn devices_are_neither_opened_nor_made() {
    for_each_tier(|bed| {
        assert!(Path::new("/dev/kmsg").exists(), "a device outside");
        attack_in(bed, "devices");
        let made = fs::read_dir(&bed.workspace).expect("a folder").map(|entry| entry.expect("an entry"));
        assert!(made.map(|entry| entry.metadata().expect("a kind")).all(|found| found.rdev() == 0));
    });
}

#[test]
fn terminals_take_no_input_from_commands() {
    for_each_tier(|bed| attack_in(bed, "terminals"));
}

/// No terminal of the machine is visible to commands, and none of theirs is visible to the machine.
#[test]
fn terminals_are_the_commands_own() {
    let names = |folder: &str| fs::read_dir(folder).expect("terminals").count();
    for_each_tier(|bed| {
        if bed.tier != Tier::T1 {
            bed.attack("must_fail ptmx look /dev/ptmx; must_fail pts ls /dev/pts/");
            return;
        }
        let text = bed.run("script -qec 'ls /dev/pts' /dev/null").text;
        assert_eq!(text.split_ascii_whitespace().collect::<Vec<_>>(), ["0", "ptmx"]);
        let before = names("/dev/pts");
        let mut running = bed.start("script -qec 'exec sleep 30' /dev/null");
        bed.processes_when(2);
        assert_eq!(names("/dev/pts"), before, "a terminal of the machine's");
        running.stop(false);
        crate::bed::finish(&mut running);
    });
}

/// Many operations only need a descriptor that is open for reading: they create names in a directory, show
/// covered files, or change a file.
#[test]
fn calls_that_are_many_in_one_are_lists_of_what_is_allowed() {
    for_each_tier(|bed| attack_in(bed, "requests"));
}

#[test]
fn commands_have_a_session_without_a_terminal() {
    for_each_tier(|bed| {
        let mut running = bed.start("exec sleep 30");
        let shell = bed.processes_when(1)[0];
        let stat = |pid: u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
            let fields = stat.rsplit_once(')').expect("a name").1.split_ascii_whitespace();
            fields.map(str::to_owned).collect::<Vec<_>>()
        };
        let (inside, outside) = (stat(shell), stat(std::process::id()));
        assert_eq!(inside[3], shell.to_string(), "its session");
        assert_ne!(inside[3], outside[3], "the host's session");
        assert_eq!(inside[4], "0", "its terminal");
        running.stop(false);
        crate::bed::finish(&mut running);
    });
}

#[test]
fn namespaces_are_neither_made_nor_joined() {
    for_each_tier(|bed| attack_in(bed, "spaces"));
}

#[test]
fn nothing_is_mounted() {
    for_each_tier(|bed| attack_in(bed, "mounts"));
}

#[test]
fn calls_over_the_machine_are_unknown() {
    for_each_tier(|bed| attack_in(bed, "calls"));
}

#[test]
fn other_tables_of_calls_are_closed() {
    for_each_tier(|bed| attack_in(bed, "numbers"));
}

#[test]
fn personalities_are_the_ordinary_ones() {
    for_each_tier(|bed| attack_in(bed, "personalities"));
}

#[test]
fn switches_of_the_kernel_are_not_turned() {
    for_each_tier(|bed| {
        let pattern = Path::new("/proc/sys/kernel/core_pattern");
        let before = fs::read(pattern).expect("a pattern");
        attack_in(bed, &format!("switches {}", SWITCHES.join(" ")));
        let finished = bed.run(
            "echo '|/escaped' > /proc/sys/kernel/core_pattern
            echo escaped > /proc/sys/kernel/hostname
            hostname escaped; sysctl -w kernel.core_pattern='|/escaped'
            find /proc/sys /sys -type f -perm /222 2>/dev/null | while read -r name; do
                (: >> \"$name\") 2>/dev/null && echo ESCAPED \"$name\"
            done
            echo finished",
        );
        let after = fs::read(pattern).expect("a pattern");
        if after != before {
            let _ = fs::write(pattern, &before);
        }
        assert_eq!(after, before, "core_pattern was changed");
        finished.assert_nothing_escaped();
    });
}

#[test]
fn facts_that_root_alone_reads_are_hidden() {
    for_each_tier(|bed| {
        assert!(fs::metadata("/proc/timer_list").is_ok() || fs::metadata("/proc/keys").is_ok(), "no facts");
        let finished = bed.run(
            "for name in key-users keys locks kpagecgroup kpagecount kpageflags slabinfo timer_list vmallocinfo \
                kmsg kcore sched_debug latency_stats pagetypeinfo allocinfo 1/pagemap 1/stack; do
                test -n \"$(head -c 64 /proc/$name 2>&1 >/dev/null)\" || echo ESCAPED $name
                test \"$(head -c 64 /proc/$name 2>/dev/null | tr -d '\\0' | wc -c)\" = 0 || echo ESCAPED $name
            done
            for name in kallsyms iomem modules; do
                grep -v '0000000' /proc/$name | head -3 | sed \"s/^/ESCAPED $name: /\"
            done
            dmesg 2>/dev/null | head -3 | sed 's/^/ESCAPED dmesg: /'
            echo finished",
        );
        finished.assert_nothing_escaped();
    });
}

/// The kernel counts timers and pending signals for all programs of a user together.
#[test]
fn timers_are_left_for_others() {
    let outside = rustix::process::getrlimit(rustix::process::Resource::Sigpending).current;
    for_each_tier(|bed| {
        let finished = bed.run("ulimit -i; ulimit -Hi");
        let inside: Vec<u64> =
            finished.text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let most = outside.map_or(16 * 1024, |most| most / 2);
        assert_eq!(inside, [most, most], "{finished:?}");
    });
}
