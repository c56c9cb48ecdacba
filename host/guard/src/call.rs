//! System calls that make, move or remove names or change files, and what they are given.

use libc::c_long;
use scorpiox_kernel::sys::{Ask, Question};
use scorpiox_kernel::syscalls::{ATTRIBUTES, MODES, SET_ID, SYS_FCHMODAT2};

/// A path, as a caller gives it: an address in its memory, and the folder that it begins at.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    /// A descriptor of the caller, or `AT_FDCWD`.
    pub folder: i32,
    pub path: u64,
}

/// What is to be made.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    Folder {
        mode: u32,
    },
    Node {
        mode: u32,
    },
    /// A symbolic link; the address of what it says.
    Symlink {
        text: u64,
    },
}

impl What {
    /// Whether that is a socket which nobody owns.
    pub(super) fn is_socket(self) -> bool {
        matches!(self, Self::Node { mode } if mode & libc::S_IFMT == libc::S_IFSOCK)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    pub at: At,
    pub flags: u32,
    pub mode: u32,
}

/// Which file gets another mode, other times or another owner.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which {
    /// What the caller has open under this number.
    Open(i32),
    /// What a path leads to, as these flags have it.
    Path(At, u32),
}

/// What a file gets.
#[derive(Debug, Clone, Copy)]
pub(super) enum Attributes {
    Mode(u32),
    Times(Times),
    /// Its owner and its group; the highest number is for what it has.
    Owner(u32, u32),
}

/// The address of a pair of times, which is 0 for now.
#[derive(Debug, Clone, Copy)]
pub(super) enum Times {
    Nanoseconds(u64),
    #[cfg(target_arch = "x86_64")]
    Microseconds(u64),
    #[cfg(target_arch = "x86_64")]
    Seconds(u64),
}

/// A call that is asked about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Call {
    Open(Open),
    Make {
        at: At,
        what: What,
    },
    Link {
        from: At,
        to: At,
        flags: u32,
    },
    Rename {
        from: At,
        to: At,
        flags: u32,
    },
    Remove {
        at: At,
        flags: u32,
    },
    Truncate {
        at: At,
        length: u64,
    },
    /// A socket gets an address.
    Bind {
        address: u64,
        length: u64,
    },
    Change {
        which: Which,
        attributes: Attributes,
    },
    Umask,
}

const CREATES: u32 = libc::O_CREAT.cast_unsigned();
/// Flags of `open` that let a file be changed.
const CHANGES: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_TRUNC).cast_unsigned();
#[cfg(target_arch = "x86_64")]
const CREAT_FLAGS: u32 = (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC).cast_unsigned();

#[cfg(target_arch = "x86_64")]
const NO_LINK: u32 = libc::AT_SYMLINK_NOFOLLOW.cast_unsigned();

/// Calls that make a name or change a file whatever their arguments are, and the one that says with which
/// rights.
const MAKES: &[c_long] = &[
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_symlinkat,
    libc::SYS_linkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_truncate,
    libc::SYS_bind,
    libc::SYS_umask,
];
#[cfg(target_arch = "x86_64")]
const LEGACY_MAKES: &[c_long] =
    &[libc::SYS_mkdir, libc::SYS_mknod, libc::SYS_symlink, libc::SYS_link, libc::SYS_rename, libc::SYS_creat];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY_MAKES: &[c_long] = &[];
/// Calls that take a name away.
#[cfg(target_arch = "x86_64")]
const REMOVES: &[c_long] = &[libc::SYS_unlinkat, libc::SYS_unlink, libc::SYS_rmdir];
#[cfg(not(target_arch = "x86_64"))]
const REMOVES: &[c_long] = &[libc::SYS_unlinkat];
/// Calls that open a file, and which argument their flags are.
#[cfg(target_arch = "x86_64")]
const OPENS: &[(c_long, u32)] = &[(libc::SYS_openat, 2), (libc::SYS_open, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OPENS: &[(c_long, u32)] = &[(libc::SYS_openat, 2)];

/// What a guard is to be asked about: all that makes a name or opens a file to change it, and, if need be,
/// what removes one. Whatever only reads is not asked about.
pub(super) fn asks(removing: bool) -> Vec<Ask> {
    let mut calls: Vec<_> = MAKES.iter().chain(LEGACY_MAKES).map(|call| Ask::Always(*call)).collect();
    if removing {
        calls.extend(REMOVES.iter().map(|call| Ask::Always(*call)));
    }
    let bits = CREATES | CHANGES;
    calls.extend(OPENS.iter().map(|(call, argument)| Ask::IfBits { call: *call, argument: *argument, bits }));
    calls
}

/// What a guard is to be asked about where nothing else looks at who gives files other attributes.
pub(super) fn asks_about_attributes() -> impl Iterator<Item = Ask> {
    ATTRIBUTES.iter().copied().flatten().map(|call| Ask::Always(*call))
}

/// Returns the calls to ask about in any case: those that give a file a mode with a bit that no file gets.
pub fn asks_about_modes() -> impl Iterator<Item = Ask> {
    let ask = |(call, argument): &(c_long, u8)| Ask::IfBits {
        call: *call,
        argument: u32::from(*argument),
        bits: SET_ID,
    };
    MODES.iter().copied().flatten().map(ask)
}

/// The low half of an argument, which is all that the kernel takes of a number.
#[allow(clippy::cast_possible_truncation)]
const fn word(argument: u64) -> u32 {
    argument as u32
}

/// A path that begins at a folder that the call names.
const fn at(folder: u64, path: u64) -> At {
    At { folder: word(folder).cast_signed(), path }
}

/// A path of a call that names no folder.
const fn here(path: u64) -> At {
    At { folder: libc::AT_FDCWD, path }
}

/// What a call is about that takes a descriptor alone when it is given no path.
const fn which(folder: u64, path: u64, flags: u64) -> Which {
    match path {
        0 => Which::Open(word(folder).cast_signed()),
        _ => Which::Path(at(folder, path), word(flags)),
    }
}

const fn mode(which: Which, mode: u64) -> Call {
    Call::Change { which, attributes: Attributes::Mode(word(mode)) }
}

const fn times(which: Which, times: Times) -> Call {
    Call::Change { which, attributes: Attributes::Times(times) }
}

const fn owner(which: Which, user: u64, group: u64) -> Call {
    Call::Change { which, attributes: Attributes::Owner(word(user), word(group)) }
}

impl Call {
    /// What is asked for; `None` if it is none of these.
    pub(super) fn of(question: &Question) -> Option<Self> {
        let a = question.arguments;
        Some(match question.call {
            libc::SYS_openat => Self::Open(Open { at: at(a[0], a[1]), flags: word(a[2]), mode: word(a[3]) }),
            libc::SYS_mkdirat => Self::Make { at: at(a[0], a[1]), what: What::Folder { mode: word(a[2]) } },
            libc::SYS_mknodat => Self::Make { at: at(a[0], a[1]), what: What::Node { mode: word(a[2]) } },
            libc::SYS_symlinkat => Self::Make { at: at(a[1], a[2]), what: What::Symlink { text: a[0] } },
            libc::SYS_linkat => Self::Link { from: at(a[0], a[1]), to: at(a[2], a[3]), flags: word(a[4]) },
            libc::SYS_renameat => Self::Rename { from: at(a[0], a[1]), to: at(a[2], a[3]), flags: 0 },
            libc::SYS_renameat2 => {
                Self::Rename { from: at(a[0], a[1]), to: at(a[2], a[3]), flags: word(a[4]) }
            }
            libc::SYS_unlinkat => Self::Remove { at: at(a[0], a[1]), flags: word(a[2]) },
            libc::SYS_truncate => Self::Truncate { at: here(a[0]), length: a[1] },
            libc::SYS_bind => Self::Bind { address: a[1], length: a[2] },
            libc::SYS_umask => Self::Umask,
            libc::SYS_fchmod => mode(Which::Open(word(a[0]).cast_signed()), a[1]),
            libc::SYS_fchmodat => mode(Which::Path(at(a[0], a[1]), 0), a[2]),
            SYS_FCHMODAT2 => mode(Which::Path(at(a[0], a[1]), word(a[3])), a[2]),
            libc::SYS_fchown => owner(Which::Open(word(a[0]).cast_signed()), a[1], a[2]),
            libc::SYS_fchownat => owner(Which::Path(at(a[0], a[1]), word(a[4])), a[2], a[3]),
            libc::SYS_utimensat => times(which(a[0], a[1], a[3]), Times::Nanoseconds(a[2])),
            other => return Self::legacy(other, a),
        })
    }

    #[cfg(target_arch = "x86_64")]
    fn legacy(call: c_long, a: [u64; 6]) -> Option<Self> {
        Some(match call {
            libc::SYS_open => Self::Open(Open { at: here(a[0]), flags: word(a[1]), mode: word(a[2]) }),
            libc::SYS_creat => Self::Open(Open { at: here(a[0]), flags: CREAT_FLAGS, mode: word(a[1]) }),
            libc::SYS_mkdir => Self::Make { at: here(a[0]), what: What::Folder { mode: word(a[1]) } },
            libc::SYS_mknod => Self::Make { at: here(a[0]), what: What::Node { mode: word(a[1]) } },
            libc::SYS_symlink => Self::Make { at: here(a[1]), what: What::Symlink { text: a[0] } },
            libc::SYS_link => Self::Link { from: here(a[0]), to: here(a[1]), flags: 0 },
            libc::SYS_rename => Self::Rename { from: here(a[0]), to: here(a[1]), flags: 0 },
            libc::SYS_unlink => Self::Remove { at: here(a[0]), flags: 0 },
            libc::SYS_rmdir => Self::Remove { at: here(a[0]), flags: libc::AT_REMOVEDIR.cast_unsigned() },
            libc::SYS_chmod => mode(Which::Path(here(a[0]), 0), a[1]),
            libc::SYS_chown => owner(Which::Path(here(a[0]), 0), a[1], a[2]),
            libc::SYS_lchown => owner(Which::Path(here(a[0]), NO_LINK), a[1], a[2]),
            libc::SYS_utime => times(Which::Path(here(a[0]), 0), Times::Seconds(a[1])),
            libc::SYS_utimes => times(Which::Path(here(a[0]), 0), Times::Microseconds(a[1])),
            libc::SYS_futimesat => times(which(a[0], a[1], 0), Times::Microseconds(a[2])),
            _ => return None,
        })
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn legacy(_: c_long, _: [u64; 6]) -> Option<Self> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked about and not known goes on as if nobody had to look at it.
    #[test]
    fn every_call_that_is_asked_about_is_known() {
        for ask in asks(true).into_iter().chain(asks_about_attributes()).chain(asks_about_modes()) {
            let question = Question { id: 0, thread: 0, call: ask.call(), arguments: [0; 6] };
            assert!(Call::of(&question).is_some(), "{ask:?}");
        }
    }
}
