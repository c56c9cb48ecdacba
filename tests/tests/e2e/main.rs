//! The finished program, over real pipes. One test binary, a module for each subject.

mod batches;
mod callbacks;
mod cancel;
mod conversations;
mod faults;
mod revisions;
mod smoke;
mod tools;
