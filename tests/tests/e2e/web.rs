//! Pages, search engines and images through the finished program.

mod browser;
mod docs;
mod image;
mod search;
mod support;
