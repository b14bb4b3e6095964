//! How fast a CPU moves data: by instruction, memory type, size, and where the data was (paper 4).

mod cuda;
mod device;
pub mod dma;
pub mod provider;
mod region;

pub use region::Region;
