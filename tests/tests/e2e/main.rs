//! The finished program, over real pipes. One test binary, a module for each subject.

mod conversations;
mod faults;
mod revisions;
mod smoke;
mod tools;
