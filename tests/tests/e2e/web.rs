//! Tests of pages, search engines and images.

#[cfg(unix)] // the browser needs a sandbox
mod browser;
#[cfg(unix)] // links
mod disk;
mod docs;
#[cfg(unix)] // links and pipes
mod image;
#[cfg(unix)] // process information of Linux
mod large;
mod search;
mod support;
