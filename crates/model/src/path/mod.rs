//! What a transfer costs, stage by stage, from a program's buffer on one side to a program's buffer on the other
//! (Hamada et al.).
//!
//! A path is a TOML file ([`PathFile`]): stages in order, each with a rate (a constant, a table by size, or a figure
//! of a profile), a start-up gap, a fixed cost, and when the next may begin. Variants share stages. Figures compare
//! two variants; crossovers say from which size on which of several protocols is the quickest. Rates of copies are
//! taken as measured, never composed of those of reads and writes: the paper's tables show that composing fails (by
//! half, for SIMD copies out of write-combining memory).
//!
//! A stage of kind `copy` or `status` keeps a CPU busy. In the terms of LogGP ([`LogGp`]) it is overhead: the
//! sender's until something else moves the message, the receiver's after everything that does. `side = "receiver"`
//! (or `"sender"`) in a stage says which where the order does not, as between two CPUs that share memory.
//!
//! Valid for one transfer at a time on idle machines. Concurrent transfers share rates, which this model does not
//! divide, and many senders to one receiver (incast) are slower than any path of this model.
//!
//! ```
//! use coho_model::path::PathFile;
//! use coho_profile::Ns;
//!
//! let text = r#"
//! name = "two stages"
//! [rates]
//! bus = { bytes_per_s = 1e9 }
//! [[stage]]
//! name = "there"
//! kind = "dma"
//! rate = "bus"
//! gap_ns = 100
//! "#;
//! let path = PathFile::parse("mine.toml", text, &|_| Err("no other files"))?.resolve(None)?;
//! assert_eq!(path.variants[0].time(4096.0, Ns::ZERO, 0), Ns(100.0 + 4096.0));
//! # Ok::<(), coho_model::path::Error>(())
//! ```

mod check;
mod crossing;
mod entries;
mod envelope;
mod error;
mod figure;
mod file;
mod fit;
mod loggp;
mod measured;
mod own;
mod rate;
pub mod ready;
mod resolve;
mod stage;
mod statement;
mod summary;
#[cfg(test)]
mod tests;

use coho_profile::Ns;

pub use check::{CHECKED, Check, Checked, check, check_within, largest_error, median_error};
pub use crossing::{Crossing, Crossover, Takeover};
pub use error::{Error, Reason};
pub use figure::{Figure, Point};
pub use file::PathFile;
pub use fit::{Fit, Segment, fit, parse_pairs};
pub use loggp::LogGp;
pub use own::Own;
pub use rate::Rate;
pub use stage::{Kind, Overlap, Side, Stage};
pub use statement::{Met, Statement};
pub use summary::{Summary, Time};

/// Under which conditions the model's figures hold.
pub const VALIDITY: &str = "one transfer at a time on idle machines; no incast, nothing shared";

/// A path whose figures all have values.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// Its name.
    pub name: String,
    /// What it describes.
    pub about: String,
    /// Where its figures come from.
    pub source: String,
    /// The reading of a publication that it is, where there are several.
    pub reading: Option<String>,
    /// The instructions that its rates distinguish; a single one without a name where they do not.
    pub instructions: Vec<String>,
    /// Sizes of its figures, in bytes.
    pub bytes: Vec<f64>,
    /// Gaps of its figures.
    pub gaps: Vec<Ns>,
    /// The variants.
    pub variants: Vec<Variant>,
    /// Comparisons of two variants.
    pub figures: Vec<Figure>,
    /// Comparisons of several variants by size.
    pub crossovers: Vec<Crossover>,
    /// What a publication states about its figures.
    pub statements: Vec<Statement>,
}

/// One way from one buffer to the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Its stages, in order.
    pub stages: Vec<Stage>,
    /// The largest transfer that it can carry, in bytes.
    pub max_bytes: Option<f64>,
}

impl Variant {
    /// Time of a transfer of `bytes`, with varied gaps of `gap` each, under the path's instruction number
    /// `instruction`. A fraction of a byte takes a fraction of its time.
    pub fn time(&self, bytes: f64, gap: Ns, instruction: usize) -> Ns {
        stage::time(&self.stages, bytes, gap, instruction)
    }

    /// How many gaps of varied length it has.
    pub fn gaps(&self) -> u32 {
        self.stages.iter().map(|stage| stage.gaps).sum()
    }

    /// Whether it can carry a transfer of this size.
    pub fn takes(&self, bytes: f64) -> bool {
        self.max_bytes.is_none_or(|most| bytes <= most)
    }

    /// Sizes at which its time has a corner or jumps, in bytes.
    fn corners(&self, instruction: usize) -> Vec<f64> {
        let chunks = self.stages.iter().filter_map(Stage::chunk_bytes);
        let rates = self.stages.iter().filter_map(|stage| stage.rate(instruction));
        rates.flat_map(Rate::corners).chain(chunks).chain(self.max_bytes).collect()
    }

    /// Fragments of one size pass all stages of a pipeline, which ends behind a stage that is waited for.
    fn has_one_fragment_size_a_pipeline(&self) -> bool {
        let pipelines = self.stages.split_inclusive(|stage| stage.overlap == Overlap::StoreAndForward);
        pipelines.into_iter().all(|stages| {
            let mut sizes = stages.iter().filter_map(Stage::chunk_bytes);
            sizes.next().is_none_or(|first| sizes.all(|size| size == first))
        })
    }
}
