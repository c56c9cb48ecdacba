//! Temporary directories ([`bed`]) and PostgreSQL servers ([`postgres`]) for tests.

pub mod bed;
pub mod postgres;
