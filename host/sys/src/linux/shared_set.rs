//! Set of numbers in memory that a process shares with those that it forks.

#![allow(unsafe_code)]

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of places for numbers, of 8 bytes each.
const PLACES: usize = 1 << 16;
/// Number of places at which a number can be.
const TRIES: usize = 64;
/// Length of the memory in bytes. The last word is not zero if a number found no place.
const LENGTH: usize = (PLACES + 1) * size_of::<AtomicU64>();

/// Set of numbers, which only grows. The numbers have to be hashes. It is full after about 40,000.
#[derive(Debug)]
pub struct SharedSet(NonNull<AtomicU64>);

impl SharedSet {
    /// Creates an empty set. Processes that this one forks add to the same set.
    pub fn new() -> io::Result<Self> {
        let (rights, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address that the kernel chooses changes no existing memory.
        let memory = unsafe { libc::mmap(ptr::null_mut(), LENGTH, rights, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(memory.cast()).map(Self).ok_or_else(|| io::Error::other("no memory"))
    }

    /// Creates a full set, which may contain each number.
    pub fn full() -> io::Result<Self> {
        let set = Self::new()?;
        set.words()[PLACES].store(1, Ordering::Release);
        Ok(set)
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has this many words, which are aligned and zero at first. It lives as long as `self`, and
        // all processes access it atomically.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr(), PLACES + 1) }
    }

    fn places(&self, number: u64) -> impl Iterator<Item = &AtomicU64> {
        let (words, first) = (self.words(), usize::try_from(number % PLACES as u64).unwrap_or_default());
        (first..first + TRIES).map(move |place| &words[place % PLACES])
    }

    /// Adds a number. If there is no place for it, the set is full from then on.
    pub fn insert(&self, number: u64) {
        let number = number.max(1);
        for place in self.places(number) {
            match place.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(found) if found == number => return,
                Err(_) => {}
            }
        }
        self.words()[PLACES].store(1, Ordering::Release);
    }

    /// Returns `true` if a number was added, or may have been, because the set is full.
    pub fn may_contain(&self, number: u64) -> bool {
        let number = number.max(1);
        let is_full = || self.words()[PLACES].load(Ordering::Acquire) != 0;
        self.places(number).any(|place| place.load(Ordering::Acquire) == number) || is_full()
    }
}

impl Drop for SharedSet {
    fn drop(&mut self) {
        // SAFETY: the mapping has this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), LENGTH) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::sys::{self, Side};
    use super::*;

    #[test]
    fn forked_processes_add_to_the_same_set() {
        let set = SharedSet::new().expect("memory");
        set.insert(7);
        match sys::fork_into(0).expect("a process") {
            Side::Child => {
                set.insert(8);
                sys::exit_now(0);
            }
            Side::Parent(child) => {
                let ended = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
                ended.expect("it ends");
            }
        }
        assert!([7, 8].iter().all(|number| set.may_contain(*number)));
        assert!(!set.may_contain(9));
    }

    #[test]
    fn a_full_set_may_contain_everything() {
        let set = SharedSet::new().expect("memory");
        for number in 0..TRIES as u64 {
            set.insert(5 + number * PLACES as u64);
        }
        assert!(!set.may_contain(1));
        set.insert(5 + TRIES as u64 * PLACES as u64);
        assert!(set.may_contain(1));
    }
}
