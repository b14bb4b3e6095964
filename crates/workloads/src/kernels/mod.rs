//! Programs that depend on barriers (Nakamura et al., sections 3 and 4): a loop, an untuned solver and a tuned one.
//!
//! - [`Daxpy`]: A(i) = B(i) + s C(i), where each loop is a parallel region, by its length.
//! - [`Galerkin`]: natural convection by a spectral method, in many short parallel loops, as SPEC's galgel was run
//!   there.
//! - [`Weather`]: a shallow-water model in one parallel region with one barrier per stage, as the paper's weather
//!   model.
//!
//! All compute real results, which [`Program::check`] examines: the loop by its elements; the applications must
//! reproduce the result of one thread to the last bit and conserve what they should.

mod applications;
mod crew;
mod daxpy;
mod field;
mod galerkin;
mod program;
mod team;
mod vector;
mod weather;

pub use applications::{Day, Galerkin, Layer, Weather};
pub use crew::{Alone, Crew, Member};
pub use daxpy::{Arrays, BYTES, Daxpy};
pub use program::{Program, Size};
pub use team::{Leader, lead};
pub use vector::name as vectors;
