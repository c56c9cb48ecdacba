//! Metadata of denied names in folders that may be listed.
//!
//! WASI's C library asks for metadata of each entry while it lists a folder, and fails if that is refused for one of
//! them. Such a name is therefore described in the way in which commands see it: as an empty file that cannot be
//! opened. Size, times and identity of the real file stay unknown.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;

use cap_std::fs::FileType;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorStat, DescriptorType, MetadataHashValue};

use crate::folders::Listed;
use crate::place::Place;

/// A denied name in a folder that may be listed.
pub(super) struct Closed {
    pub(super) kind: DescriptorType,
    hash: u64,
}

impl Closed {
    /// Looks at the kind of an entry, which its listing shows, too. Fails if there is no such entry.
    pub(super) fn find(place: &Place, listed: &Listed) -> io::Result<Self> {
        let kind = kind(place.folder.symlink_metadata(&place.name)?.file_type());
        let mut hasher = DefaultHasher::new();
        listed.hash(&mut hasher);
        Ok(Self { kind, hash: hasher.finish() })
    }

    pub(super) fn stat(&self) -> DescriptorStat {
        DescriptorStat {
            type_: self.kind,
            link_count: 1,
            size: 0,
            data_access_timestamp: None,
            data_modification_timestamp: None,
            status_change_timestamp: None,
        }
    }

    /// Returns a hash of the name. It differs from those of virtual folders.
    pub(super) fn hash(&self) -> MetadataHashValue {
        MetadataHashValue { lower: self.hash, upper: u64::MAX - 1 }
    }
}

fn kind(of: FileType) -> DescriptorType {
    if of.is_dir() {
        DescriptorType::Directory
    } else if of.is_symlink() {
        DescriptorType::SymbolicLink
    } else if of.is_file() {
        DescriptorType::RegularFile
    } else {
        DescriptorType::Unknown
    }
}
