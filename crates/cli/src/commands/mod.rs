//! A module for each command.

pub mod completions;
pub mod man;
pub mod schema;
