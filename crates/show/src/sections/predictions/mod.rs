//! Answers of the model that are no section of a profile.

pub mod barriers;
pub mod cpi;
pub mod openmp;
