//! Answers of the model that belong to no section of a profile.

pub mod barriers;
pub mod cpi;
pub mod openmp;
