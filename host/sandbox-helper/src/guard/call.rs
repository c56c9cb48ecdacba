//! Decodes the system calls that create, move or remove names or change files.

use libc::c_long;
use scorpiox_sys::linux::questions::{Ask, Question};
use scorpiox_sys::linux::syscalls::{self, ATTRIBUTES, MODES, SET_ID, SYS_FCHMODAT2};

/// A path argument of the caller: an address in its memory, and the directory that the path is relative to.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    /// Descriptor of the caller, or `AT_FDCWD`.
    pub folder: i32,
    pub path: u64,
}

/// Kind of file to create.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    Folder {
        mode: u32,
    },
    Node {
        mode: u32,
    },
    /// Symbolic link; `text` is the address of its target path.
    Symlink {
        text: u64,
    },
}

impl What {
    /// Returns `true` if this is a socket, which no process has bound.
    pub(super) fn is_socket(self) -> bool {
        matches!(self, Self::Node { mode } if mode & libc::S_IFMT == libc::S_IFSOCK)
    }

    /// Returns `true` if writing to it writes elsewhere: a symbolic link or a pipe.
    pub(super) fn leads_away(self) -> bool {
        match self {
            Self::Node { mode } => mode & libc::S_IFMT == libc::S_IFIFO,
            Self::Symlink { .. } => true,
            Self::Folder { .. } => false,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    pub at: At,
    pub flags: u32,
    pub mode: u32,
}

/// File whose mode, times or owner change.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which {
    /// Open file with this descriptor number.
    Open(i32),
    /// File at a path, resolved with these flags.
    Path(At, u32),
}

/// Attributes to set.
#[derive(Debug, Clone, Copy)]
pub(super) enum Attributes {
    Mode(u32),
    Times(Times),
    /// New owner and group; `u32::MAX` keeps the current one.
    Owner(u32, u32),
}

/// Address of a pair of times; 0 stands for the current time.
#[derive(Debug, Clone, Copy)]
pub(super) enum Times {
    Nanoseconds(u64),
    #[cfg(target_arch = "x86_64")]
    Microseconds(u64),
    #[cfg(target_arch = "x86_64")]
    Seconds(u64),
}

/// A decoded system call.
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
    /// Binds a socket to an address.
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
/// Flag of `open` that creates a file without a name.
const NAMELESS: u32 = (libc::O_TMPFILE & !libc::O_DIRECTORY).cast_unsigned();
/// Flags of `open` that allow changes to the file.
const CHANGES: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_TRUNC).cast_unsigned();
#[cfg(target_arch = "x86_64")]
const CREAT_FLAGS: u32 = (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC).cast_unsigned();

#[cfg(target_arch = "x86_64")]
const NO_LINK: u32 = libc::AT_SYMLINK_NOFOLLOW.cast_unsigned();

/// Calls that create a name or change a file whatever their arguments are, and `umask`, which determines the
/// mode.
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
/// Calls that remove a name.
#[cfg(target_arch = "x86_64")]
const REMOVES: &[c_long] = &[libc::SYS_unlinkat, libc::SYS_unlink, libc::SYS_rmdir];
#[cfg(not(target_arch = "x86_64"))]
const REMOVES: &[c_long] = &[libc::SYS_unlinkat];
/// Calls that open a file, with the index of their flags argument.
#[cfg(target_arch = "x86_64")]
const OPENS: &[(c_long, u32)] = &[(libc::SYS_openat, 2), (libc::SYS_open, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OPENS: &[(c_long, u32)] = &[(libc::SYS_openat, 2)];

/// Returns the calls that seccomp forwards to a guard: those that create a name or open a file for writing,
/// and, if `removing`, those that remove one. Calls that only read are not forwarded.
pub(super) fn asks(removing: bool) -> Vec<Ask> {
    let mut calls: Vec<_> = MAKES.iter().chain(LEGACY_MAKES).map(|call| Ask::Always(*call)).collect();
    if removing {
        calls.extend(REMOVES.iter().map(|call| Ask::Always(*call)));
    }
    let bits = CREATES | CHANGES;
    calls.extend(OPENS.iter().map(|(call, argument)| Ask::IfBits { call: *call, argument: *argument, bits }));
    calls
}

/// Returns the calls that change attributes of files, for a tier in which only the guard checks them.
pub(super) fn asks_about_attributes() -> impl Iterator<Item = Ask> {
    ATTRIBUTES.iter().copied().flatten().map(|call| Ask::Always(*call))
}

/// Returns the calls to forward in any case: those that give a file a set-user-ID or set-group-ID bit, which
/// no file gets.
pub fn asks_about_modes() -> impl Iterator<Item = Ask> {
    MODES.iter().copied().flatten().map(|(call, mode)| if_set_id(*call, *mode))
}

/// Returns the calls to forward if [`asks`] does not: those that may create a file with a set-user-ID or
/// set-group-ID bit. Outside of the cell, any user could run such a program with the privileges of the
/// server's user.
pub fn asks_about_new_modes() -> impl Iterator<Item = Ask> {
    let makes = syscalls::MAKES.iter().copied().flatten().map(|(call, mode)| if_set_id(*call, *mode));
    makes.chain(syscalls::OPENS.iter().map(|(call, _, mode)| if_set_id(*call, *mode)))
}

const fn if_set_id(call: c_long, mode: u8) -> Ask {
    Ask::IfBits { call, argument: mode as u32, bits: SET_ID }
}

/// Returns `true` if the kernel would create a file with a set-user-ID or set-group-ID bit in this call.
pub fn makes_set_id(question: &Question) -> bool {
    let argument =
        |at: u8| question.arguments.get(usize::from(at)).map_or(u32::MAX, |argument| word(*argument));
    let makes = syscalls::MAKES.iter().copied().flatten();
    let makes = makes.filter(|(call, _)| *call == question.call).map(|(_, mode)| *mode);
    // Without these flags the mode is undefined.
    let creates = |flags: u8| argument(flags) & (CREATES | NAMELESS) != 0;
    let opens = syscalls::OPENS.iter().filter(|(call, flags, _)| *call == question.call && creates(*flags));
    makes.chain(opens.map(|(_, _, mode)| *mode)).any(|mode| argument(mode) & SET_ID != 0)
}

/// Returns the low half of an argument: the kernel ignores the rest of an `int`.
#[allow(clippy::cast_possible_truncation)]
const fn word(argument: u64) -> u32 {
    argument as u32
}

/// Returns a path relative to a directory descriptor of the call.
const fn at(folder: u64, path: u64) -> At {
    At { folder: word(folder).cast_signed(), path }
}

/// Returns a path of a call without a directory descriptor.
const fn here(path: u64) -> At {
    At { folder: libc::AT_FDCWD, path }
}

/// Returns the file of a call that acts on the descriptor itself if its path is null.
const fn which(folder: u64, path: u64, flags: u64) -> Which {
    match path {
        0 => Which::Open(word(folder).cast_signed()),
        _ => Which::Path(at(folder, path), word(flags)),
    }
}

/// Returns the mode of a file to create, without the bits that no file gets. They are left out silently, as for
/// an existing file: programs that copy modes go on.
const fn new_mode(mode: u64) -> u32 {
    word(mode) & !SET_ID
}

const fn open(at: At, flags: u32, mode: u64) -> Call {
    Call::Open(Open { at, flags, mode: new_mode(mode) })
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
    /// Returns `true` if the call changes attributes of a file, and creates nothing.
    pub(super) const fn is_change(&self) -> bool {
        matches!(self, Self::Change { .. })
    }

    /// Decodes a notification; returns `None` for any other call.
    pub(super) fn of(question: &Question) -> Option<Self> {
        let a = question.arguments;
        Some(match question.call {
            libc::SYS_openat => open(at(a[0], a[1]), word(a[2]), a[3]),
            libc::SYS_mkdirat => Self::Make { at: at(a[0], a[1]), what: What::Folder { mode: word(a[2]) } },
            libc::SYS_mknodat => Self::Make { at: at(a[0], a[1]), what: What::Node { mode: new_mode(a[2]) } },
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
            libc::SYS_open => open(here(a[0]), word(a[1]), a[2]),
            libc::SYS_creat => open(here(a[0]), CREAT_FLAGS, a[1]),
            libc::SYS_mkdir => Self::Make { at: here(a[0]), what: What::Folder { mode: word(a[1]) } },
            libc::SYS_mknod => Self::Make { at: here(a[0]), what: What::Node { mode: new_mode(a[1]) } },
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

    /// A forwarded call that cannot be decoded would continue unchecked.
    #[test]
    fn every_call_that_is_asked_about_is_known() {
        for ask in asks(true)
            .into_iter()
            .chain(asks_about_attributes())
            .chain(asks_about_modes())
            .chain(asks_about_new_modes())
        {
            let question = Question { id: 0, thread: 0, call: ask.call(), arguments: [0; 6] };
            assert!(Call::of(&question).is_some(), "{ask:?}");
        }
    }

    #[test]
    fn a_created_file_with_a_set_id_bit_is_recognized() {
        let (creates, nameless) = (u64::from(CREATES), libc::O_TMPFILE.unsigned_abs().into());
        let (set, plain) = (0o2755 | 7 << 32, 0o1755);
        let makes = |call, arguments: [u64; 4]| {
            let [one, two, three, four] = arguments;
            makes_set_id(&Question { id: 0, thread: 0, call, arguments: [one, two, three, four, 0, 0] })
        };
        for flags in [creates, nameless, creates | 1 << 40] {
            assert!(makes(libc::SYS_openat, [0, 0, flags, set]), "{flags:#o}");
            assert!(!makes(libc::SYS_openat, [0, 0, flags, plain]), "{flags:#o}");
        }
        assert!(!makes(libc::SYS_openat, [0, 0, libc::O_DIRECTORY.unsigned_abs().into(), set]));
        assert!(makes(libc::SYS_mknodat, [0, 0, 0o104_755, 0]));
        assert!(!makes(libc::SYS_mkdirat, [0, 0, set, 0]), "the kernel leaves the bit out");
        #[cfg(target_arch = "x86_64")]
        {
            assert!(makes(libc::SYS_creat, [0, set, 0, 0]) && makes(libc::SYS_mknod, [0, set, 0, 0]));
            assert!(makes(libc::SYS_open, [0, creates, set, 0]) && !makes(libc::SYS_open, [0, 0, set, 0]));
        }
    }
}
