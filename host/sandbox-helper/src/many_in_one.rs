//! The first part of the seccomp filter: multiplexed calls, in which an argument selects the operation.
//!
//! It is assembled here rather than compiled from rules, so that a denied operation fails with the error for
//! an unsupported one. Some programs give up on `ENOSYS` but use a fallback on `ENOTTY`.

use scorpiox_sys::linux::requests::{
    ALWAYS, NO_TERMINALS, OWN_SIGNALS, OWN_TERMINALS, Requests, SHARED_SIGNALS,
};
use seccompiler::{BpfProgram, sock_filter};

/// Offsets in `struct seccomp_data`: the number of the call, and its architecture.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
#[cfg(target_arch = "x86_64")]
const OWN_ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const OWN_ARCHITECTURE: u32 = 0xc000_00b7;

/// Opcodes: `BPF_LD | BPF_W | BPF_ABS`, `BPF_JMP | BPF_JEQ | BPF_K`, `BPF_JMP |
/// BPF_JA` and `BPF_RET | BPF_K`.
const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP: u16 = 0x05;
const RETURN: u16 = 0x06;

/// Returns the instructions, to be followed by those for all other calls.
pub(super) fn program(signals_are_shared: bool, has_terminals: bool) -> BpfProgram {
    let signals = if signals_are_shared { SHARED_SIGNALS } else { OWN_SIGNALS };
    let terminals = if has_terminals { OWN_TERMINALS } else { NO_TERMINALS };
    let body: BpfProgram = [terminals, signals].iter().chain(ALWAYS).flat_map(one).collect();
    // Call numbers of another architecture have other meanings: the following part kills processes that use
    // them.
    let mut program = vec![load(ARCHITECTURE)];
    program.extend(unless_equal(OWN_ARCHITECTURE, body.len()));
    program.extend(body);
    program
}

/// Returns the instructions for an entry: they end in a decision, or fall through.
fn one(requests: &Requests) -> BpfProgram {
    let Requests { call, within, argument, allowed, error } = *requests;
    let mut decide = vec![load(low_word(argument))];
    for value in allowed {
        decide.extend([equal(*value, 0, 1), answer(libc::SECCOMP_RET_ALLOW)]);
    }
    decide.push(answer(refusal(error)));
    if let Some((argument, value)) = within {
        let mut all = vec![load(low_word(argument))];
        all.extend(unless_equal(value, decide.len()));
        all.extend(decide);
        decide = all;
    }
    let mut program = vec![load(NUMBER)];
    // Call numbers are small.
    program.extend(unless_equal(u32::try_from(call).unwrap_or(u32::MAX), decide.len()));
    program.extend(decide);
    program
}

const fn refusal(error: libc::c_int) -> u32 {
    libc::SECCOMP_RET_ERRNO | error.unsigned_abs()
}

const fn load(from: u32) -> sock_filter {
    sock_filter { code: LOAD, jt: 0, jf: 0, k: from }
}

const fn equal(value: u32, then: u8, otherwise: u8) -> sock_filter {
    sock_filter { code: JUMP_IF_EQUAL, jt: then, jf: otherwise, k: value }
}

const fn answer(what: u32) -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k: what }
}

/// Skips `over` instructions unless the loaded value equals `value`.
fn unless_equal(value: u32, over: usize) -> [sock_filter; 2] {
    // No filter is long enough to overflow.
    let over = sock_filter { code: JUMP, jt: 0, jf: 0, k: u32::try_from(over).unwrap_or(u32::MAX) };
    [equal(value, 1, 0), over]
}

/// Returns the offset of the low half of an argument on little-endian machines: the kernel ignores the rest.
fn low_word(argument: u8) -> u32 {
    16 + 8 * u32::from(argument)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the decision about a call; returns `None` if it is left to the rest of the filter.
    fn run(program: &[sock_filter], architecture: u32, number: u64, arguments: [u64; 6]) -> Option<u32> {
        let mut told =
            vec![number.to_le_bytes()[..4].to_vec(), architecture.to_le_bytes().to_vec(), vec![0; 8]];
        told.extend(arguments.iter().map(|argument| argument.to_le_bytes().to_vec()));
        let told = told.concat();
        let (mut at, mut held) = (0, 0);
        while let Some(instruction) = program.get(at) {
            at += 1;
            let k = instruction.k as usize;
            match instruction.code {
                LOAD => held = u32::from_le_bytes(told[k..k + 4].try_into().expect("a word")),
                JUMP => at += k,
                RETURN => return Some(instruction.k),
                JUMP_IF_EQUAL if held == instruction.k => at += usize::from(instruction.jt),
                JUMP_IF_EQUAL => at += usize::from(instruction.jf),
                other => panic!("no instruction of this program: {other}"),
            }
        }
        assert_eq!(at, program.len(), "a jump leads beyond the rest of the filter");
        None
    }

    fn decided(number: i64, arguments: [u64; 3]) -> Option<u32> {
        let [one, two, three] = arguments;
        run(&program(false, false), OWN_ARCHITECTURE, number.unsigned_abs(), [one, two, three, 0, 0, 0])
    }

    const ALLOWED: Option<u32> = Some(libc::SECCOMP_RET_ALLOW);

    use super::refusal as refused;

    #[test]
    fn what_is_not_listed_is_refused_by_whichever_half_of_a_number() {
        // BTRFS_IOC_SNAP_CREATE, its second form, BTRFS_IOC_SUBVOL_CREATE, FS_IOC_SETFLAGS, FS_IOC_ENABLE_VERITY,
        // FIDEDUPERANGE, TIOCSTI, TIOCSETD, SIOCSIFFLAGS, SIOCGSKNS, NS_GET_USERNS.
        let closed = [
            0x5000_9401,
            0x5000_9417,
            0x5000_940e,
            0x4008_6602,
            0x4080_6685,
            0xc018_9436,
            0x5412,
            0x5423,
            0x8914,
            0x894c,
            0xb701,
            0,
            1,
            0xffff_ffff,
        ];
        for request in closed {
            for request in [request, request | 1 << 32, request | 0xffff_ffff << 32] {
                assert_eq!(
                    decided(libc::SYS_ioctl, [0, request, 0]),
                    Some(refused(libc::ENOTTY)),
                    "{request:#x}"
                );
            }
        }
        for request in [0x5401, 0x541b, 0x4004_9409, 0xc020_660b, 0x5401 | 7 << 40] {
            assert_eq!(decided(libc::SYS_ioctl, [0, request, 0]), ALLOWED, "{request:#x}");
        }
        // TIOCSPTLCK, TIOCGPTPEER, TIOCSCTTY, TIOCPKT: allowed if terminals are the commands' own.
        let ioctl = libc::SYS_ioctl.unsigned_abs();
        for request in [0x4004_5431, 0x5441, 0x540e, 0x5420] {
            let decided = |own| run(&program(false, own), OWN_ARCHITECTURE, ioctl, [0, request, 0, 0, 0, 0]);
            assert_eq!(decided(true), ALLOWED, "{request:#x}");
            assert_eq!(decided(false), Some(refused(libc::ENOTTY)), "{request:#x}");
        }
        // F_SETLEASE, F_NOTIFY, F_SET_RW_HINT, F_SETDELEG.
        for command in [1024, 1026, 1036, 1040, 1 << 32 | 1024] {
            assert_eq!(decided(libc::SYS_fcntl, [0, command, 0]), Some(refused(libc::EINVAL)), "{command}");
        }
        // PR_SET_MM, PR_SCHED_CORE, PR_SET_MEMORY_MERGE, PR_SET_PTRACER.
        for operation in [35, 62, 67, 0x5961_6d61, 1000] {
            assert_eq!(
                decided(libc::SYS_prctl, [operation, 0, 0]),
                Some(refused(libc::EINVAL)),
                "{operation}"
            );
        }
        // SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF; TCP_ULP; IPT_SO_SET_REPLACE; an unknown
        // level.
        for (level, option) in [(1, 26), (1, 50), (1, 51), (6, 31), (0, 64), (99, 1)] {
            let found = decided(libc::SYS_setsockopt, [0, level, option]);
            assert_eq!(found, Some(refused(libc::ENOPROTOOPT)), "{level} {option}");
        }
        for (level, option) in [(1, 2), (6, 1), (41, 26), (0, 35), (270, 12)] {
            assert_eq!(decided(libc::SYS_setsockopt, [0, level, option]), ALLOWED, "{level} {option}");
        }
    }

    #[test]
    fn owners_of_descriptors_are_chosen_where_signals_stay_inside() {
        for command in [8, 10, 15] {
            let ask = |shared| {
                run(
                    &program(shared, false),
                    OWN_ARCHITECTURE,
                    libc::SYS_fcntl.unsigned_abs(),
                    [0, command, 0, 0, 0, 0],
                )
            };
            assert_eq!((ask(false), ask(true)), (ALLOWED, Some(refused(libc::EINVAL))), "{command}");
        }
        assert_eq!(decided(libc::SYS_fcntl, [0, 16, 0]), ALLOWED);
    }

    #[test]
    fn other_calls_and_other_tables_of_numbers_are_left_to_the_rest() {
        assert_eq!(decided(libc::SYS_read, [0, 0x5401, 0]), None);
        let ioctl = libc::SYS_ioctl.unsigned_abs();
        assert_eq!(run(&program(false, false), 0x4000_0003, ioctl, [0, 0x5401, 0, 0, 0, 0]), None);
        assert_eq!(decided(0x4000_0000 | libc::SYS_ioctl, [0, 0x5401, 0]), None);
    }
}
