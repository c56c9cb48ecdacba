//! Pages, search engines and images through the finished program.

#[cfg(unix)] // there is no sandbox for one
mod browser;
mod docs;
#[cfg(unix)] // links and pipes
mod image;
#[cfg(unix)] // what Linux says of a process
mod large;
mod search;
mod support;
