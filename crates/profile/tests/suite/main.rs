//! Files of profiles.

mod file;
mod replacement;
