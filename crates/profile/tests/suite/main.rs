//! Files of profiles.

mod file;
mod papers;
mod replacement;
