//! Conversations kept in files: what goes in, what comes out.
