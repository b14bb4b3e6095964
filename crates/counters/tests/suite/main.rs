//! Counters on the machine at hand, and the C interface.

mod c;
mod header;
mod perf;
