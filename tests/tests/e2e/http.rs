//! The finished program over HTTP.

mod admission;
mod hostile;
mod modern;
mod sessions;
