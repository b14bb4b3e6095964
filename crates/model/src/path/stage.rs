//! Stages, and how the times of several add up.

use coho_profile::Ns;

use super::Rate;

/// What moves the data in a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A CPU, from memory to memory or from registers.
    Copy,
    /// An engine, over a bus.
    Dma,
    /// The wire, or what replaces it.
    Link,
    /// A CPU that starts an engine, reads a status or polls for one.
    Status,
}

impl Kind {
    /// Whether it keeps a CPU busy.
    pub const fn is_cpu(self) -> bool {
        matches!(self, Self::Copy | Self::Status)
    }
}

/// Whose CPU is busy with a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The sender's.
    Sender,
    /// The receiver's.
    Receiver,
}

/// When the stage after this one may begin.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Overlap {
    /// After the whole transfer: the times add up.
    #[default]
    StoreAndForward,
    /// At once: the slower of the two rates counts.
    CutThrough,
    /// With each fragment.
    Pipelined {
        /// Bytes of a fragment.
        chunk_bytes: f64,
    },
}

/// A stage of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Its name in the file.
    pub name: String,
    /// What moves the data.
    pub kind: Kind,
    /// Whose CPU it is, where the file says so. Otherwise the sender's until something crosses; see [`super::LogGp`].
    pub side: Option<Side>,
    /// The rate, for each of the path's instructions; without one, the stage takes only its fixed cost.
    pub(super) rates: Vec<Option<Rate>>,
    /// Start-up gap, which each transfer pays once, or in a pipeline each fragment.
    pub gap: Ns,
    /// Start-up gaps whose length is varied.
    pub gaps: u32,
    /// Cost per message.
    pub fixed: Ns,
    /// When the next stage may begin; irrelevant in the last stage.
    pub overlap: Overlap,
}

impl Stage {
    /// The stage's own time for `bytes`, with start-up gaps of `gap`, under the path's instruction number
    /// `instruction`.
    pub fn time(&self, bytes: f64, gap: Ns, instruction: usize) -> Ns {
        let moving = self.rate(instruction).map_or(Ns::ZERO, |rate| rate.time(bytes));
        self.fixed + self.start(gap) + moving
    }

    pub(super) fn rate(&self, instruction: usize) -> Option<&Rate> {
        self.rates[instruction].as_ref()
    }

    /// Bytes of its fragments, in a pipeline.
    pub(super) fn chunk_bytes(&self) -> Option<f64> {
        match self.overlap {
            Overlap::Pipelined { chunk_bytes } => Some(chunk_bytes),
            Overlap::StoreAndForward | Overlap::CutThrough => None,
        }
    }

    fn start(&self, gap: Ns) -> Ns {
        self.gap + f64::from(self.gaps) * gap
    }

    fn time_of_fragment(&self, fragment: f64, bytes: f64, instruction: usize) -> Ns {
        self.rate(instruction).map_or(Ns::ZERO, |rate| rate.time_of_fragment(fragment, bytes))
    }
}

/// Time of `bytes` through stages in order.
///
/// Stages that cut through to each other take the time of the slowest, plus all their gaps and fixed costs. Stages of
/// a pipeline take n fragments of c bytes in the time of one fragment through all, plus n - 1 more through the
/// slowest; n is L / c, even where that is not a whole number. Everything else adds up. (Groups of a pipeline may cut
/// through.)
pub(super) fn time(stages: &[Stage], bytes: f64, gap: Ns, instruction: usize) -> Ns {
    let mut total = Ns::ZERO;
    let mut rest = stages;
    while !rest.is_empty() {
        let joined = rest.iter().take_while(|stage| stage.overlap != Overlap::StoreAndForward).count();
        let (group, after) = rest.split_at((joined + 1).min(rest.len()));
        total += group.iter().map(|stage| stage.fixed).sum::<Ns>();
        total += time_of_group(group, bytes, gap, instruction);
        rest = after;
    }
    total
}

/// Time of a group without its fixed costs.
fn time_of_group(group: &[Stage], bytes: f64, gap: Ns, instruction: usize) -> Ns {
    let chunk = group[..group.len() - 1].iter().find_map(Stage::chunk_bytes);
    let fragment = chunk.map_or(bytes, |chunk| chunk.min(bytes));
    let (mut sum, mut slowest) = (Ns::ZERO, Ns::ZERO);
    let mut units = group.iter().peekable();
    while units.peek().is_some() {
        let (mut start, mut moving) = (Ns::ZERO, Ns::ZERO);
        for stage in units.by_ref() {
            start += stage.start(gap);
            moving = moving.max(stage.time_of_fragment(fragment, bytes, instruction));
            if stage.overlap != Overlap::CutThrough {
                break;
            }
        }
        sum += start + moving;
        slowest = slowest.max(start + moving);
    }
    sum + chunk.map_or(Ns::ZERO, |chunk| (bytes / chunk - 1.0).max(0.0) * slowest)
}
