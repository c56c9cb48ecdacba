//! Converts between the types of WASI 0.2 and 0.3.

use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::types as p2;
use wasmtime_wasi::p3::bindings::filesystem::types as p3;
use wasmtime_wasi::p3::filesystem::FilesystemError;

use crate::closed::Closed;

/// Converts an error.
pub(super) fn error(error: FsError) -> FilesystemError {
    error.downcast().map_or_else(FilesystemError::trap, |code| self::code(code).into())
}

fn code(code: p2::ErrorCode) -> p3::ErrorCode {
    use p2::ErrorCode as From;
    use p3::ErrorCode as To;
    match code {
        From::Access => To::Access,
        // 0.3 is asynchronous and has no such error.
        From::WouldBlock | From::Io => To::Io,
        From::Already => To::Already,
        From::BadDescriptor => To::BadDescriptor,
        From::Busy => To::Busy,
        From::Deadlock => To::Deadlock,
        From::Quota => To::Quota,
        From::Exist => To::Exist,
        From::FileTooLarge => To::FileTooLarge,
        From::IllegalByteSequence => To::IllegalByteSequence,
        From::InProgress => To::InProgress,
        From::Interrupted => To::Interrupted,
        From::Invalid => To::Invalid,
        From::IsDirectory => To::IsDirectory,
        From::Loop => To::Loop,
        From::TooManyLinks => To::TooManyLinks,
        From::MessageSize => To::MessageSize,
        From::NameTooLong => To::NameTooLong,
        From::NoDevice => To::NoDevice,
        From::NoEntry => To::NoEntry,
        From::NoLock => To::NoLock,
        From::InsufficientMemory => To::InsufficientMemory,
        From::InsufficientSpace => To::InsufficientSpace,
        From::NotDirectory => To::NotDirectory,
        From::NotEmpty => To::NotEmpty,
        From::NotRecoverable => To::NotRecoverable,
        From::Unsupported => To::Unsupported,
        From::NoTty => To::NoTty,
        From::NoSuchDevice => To::NoSuchDevice,
        From::Overflow => To::Overflow,
        From::NotPermitted => To::NotPermitted,
        From::Pipe => To::Pipe,
        From::ReadOnly => To::ReadOnly,
        From::InvalidSeek => To::InvalidSeek,
        From::TextFileBusy => To::TextFileBusy,
        From::CrossDevice => To::CrossDevice,
    }
}

pub(super) fn path_flags(flags: p3::PathFlags) -> p2::PathFlags {
    if follows(flags) { p2::PathFlags::SYMLINK_FOLLOW } else { p2::PathFlags::empty() }
}

pub(super) fn follows(flags: p3::PathFlags) -> bool {
    flags.contains(p3::PathFlags::SYMLINK_FOLLOW)
}

pub(super) fn open_flags(flags: p3::OpenFlags) -> p2::OpenFlags {
    use p2::OpenFlags as To;
    use p3::OpenFlags as From;
    let pairs = [
        (From::CREATE, To::CREATE),
        (From::DIRECTORY, To::DIRECTORY),
        (From::EXCLUSIVE, To::EXCLUSIVE),
        (From::TRUNCATE, To::TRUNCATE),
    ];
    pairs.into_iter().filter(|(from, _)| flags.contains(*from)).fold(To::empty(), |all, (_, to)| all | to)
}

pub(super) fn descriptor_flags(flags: p3::DescriptorFlags) -> p2::DescriptorFlags {
    use p2::DescriptorFlags as To;
    use p3::DescriptorFlags as From;
    let pairs = [
        (From::READ, To::READ),
        (From::WRITE, To::WRITE),
        (From::FILE_INTEGRITY_SYNC, To::FILE_INTEGRITY_SYNC),
        (From::DATA_INTEGRITY_SYNC, To::DATA_INTEGRITY_SYNC),
        (From::REQUESTED_WRITE_SYNC, To::REQUESTED_WRITE_SYNC),
        (From::MUTATE_DIRECTORY, To::MUTATE_DIRECTORY),
    ];
    pairs.into_iter().filter(|(from, _)| flags.contains(*from)).fold(To::empty(), |all, (_, to)| all | to)
}

/// Returns the attributes of a virtual parent directory.
pub(super) fn way_stat() -> p3::DescriptorStat {
    p3::DescriptorStat {
        type_: p3::DescriptorType::Directory,
        link_count: 1,
        size: 0,
        data_access_timestamp: None,
        data_modification_timestamp: None,
        status_change_timestamp: None,
    }
}

/// Returns the attributes of a denied entry.
pub(super) fn closed_stat(closed: &Closed) -> p3::DescriptorStat {
    let type_ = match closed.kind {
        p2::DescriptorType::Directory => p3::DescriptorType::Directory,
        p2::DescriptorType::SymbolicLink => p3::DescriptorType::SymbolicLink,
        p2::DescriptorType::RegularFile => p3::DescriptorType::RegularFile,
        _ => p3::DescriptorType::Other(None),
    };
    p3::DescriptorStat { type_, ..way_stat() }
}

pub(super) fn hash(of: &p2::MetadataHashValue) -> p3::MetadataHashValue {
    let &p2::MetadataHashValue { lower, upper } = of;
    p3::MetadataHashValue { lower, upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_errors_keep_their_meaning() {
        assert_eq!(open_flags(p3::OpenFlags::all()), p2::OpenFlags::all());
        assert_eq!(open_flags(p3::OpenFlags::TRUNCATE), p2::OpenFlags::TRUNCATE);
        assert_eq!(descriptor_flags(p3::DescriptorFlags::all()), p2::DescriptorFlags::all());
        assert_eq!(descriptor_flags(p3::DescriptorFlags::READ), p2::DescriptorFlags::READ);
        assert_eq!(path_flags(p3::PathFlags::SYMLINK_FOLLOW), p2::PathFlags::SYMLINK_FOLLOW);
        assert_eq!(path_flags(p3::PathFlags::empty()), p2::PathFlags::empty());
        let refused = error(p2::ErrorCode::NotPermitted.into());
        assert!(matches!(refused.downcast(), Ok(p3::ErrorCode::NotPermitted)));
        assert!(error(FsError::trap(wasmtime::Error::msg("broken"))).downcast().is_err());
    }
}
