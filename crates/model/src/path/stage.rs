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
pub(super) fn time(stages: &[&Stage], bytes: f64, gap: Ns, instruction: usize) -> Ns {
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
fn time_of_group(group: &[&Stage], bytes: f64, gap: Ns, instruction: usize) -> Ns {
    let chunk = group[..group.len() - 1].iter().find_map(|stage| match stage.overlap {
        Overlap::Pipelined { chunk_bytes } => Some(chunk_bytes),
        _ => None,
    });
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stage(gap: f64, bytes_per_s: f64, overlap: Overlap) -> Stage {
        Stage {
            name: String::new(),
            kind: Kind::Dma,
            side: None,
            rates: vec![Some(Rate::constant(bytes_per_s))],
            gap: Ns(gap),
            gaps: 0,
            fixed: Ns::ZERO,
            overlap,
        }
    }

    fn time(stages: &[Stage], bytes: f64) -> Ns {
        super::time(&stages.iter().collect::<Vec<_>>(), bytes, Ns::ZERO, 0)
    }

    /// Fragments pass the stages in order; a stage takes one at a time.
    fn simulated(stages: &[Stage], fragments: u32, chunk: f64) -> Ns {
        let mut free = vec![Ns::ZERO; stages.len()];
        for _ in 0..fragments {
            let mut arrives = Ns::ZERO;
            for (stage, free) in stages.iter().zip(&mut free) {
                *free = free.max(arrives) + stage.time(chunk, Ns::ZERO, 0);
                arrives = *free;
            }
        }
        free[stages.len() - 1]
    }

    #[test]
    fn cutting_through_takes_the_slower_rate_and_both_gaps() {
        let stages = [stage(5.0, 1e9, Overlap::CutThrough), stage(7.0, 5e8, Overlap::StoreAndForward)];
        assert_eq!(time(&stages, 1000.0), Ns(5.0 + 7.0 + 2000.0));
        let apart = [stage(5.0, 1e9, Overlap::StoreAndForward), stage(7.0, 5e8, Overlap::CutThrough)];
        assert_eq!(time(&apart, 1000.0), Ns(5.0 + 7.0 + 3000.0), "the last stage overlaps nothing");
    }

    #[test]
    fn a_pipeline_may_cut_through_inside() {
        let pipelined = Overlap::Pipelined { chunk_bytes: 1000.0 };
        let stages = [
            stage(0.0, 1e9, pipelined),
            stage(0.0, 1e9, Overlap::CutThrough),
            stage(0.0, 5e8, Overlap::StoreAndForward),
            stage(0.0, 1e9, Overlap::StoreAndForward),
        ];
        // One fragment through both units, three more through the slower, then the last stage.
        assert_eq!(time(&stages, 4000.0), Ns(1000.0 + 2000.0 + 3.0 * 2000.0 + 4000.0));
    }

    proptest! {
        #[test]
        fn pipelines_take_what_their_fragments_take(
            parts in proptest::collection::vec((0.0f64..1e4, 1e6f64..1e11), 1..6),
            fragments in 1u32..40,
            chunk in 1.0f64..1e6,
        ) {
            let overlap = Overlap::Pipelined { chunk_bytes: chunk };
            let stages: Vec<Stage> = parts.iter().map(|&(gap, rate)| stage(gap, rate, overlap)).collect();
            let (model, simulated) = (time(&stages, chunk * f64::from(fragments)), simulated(&stages, fragments, chunk));
            // The last stage ends the group whatever it says, so a single stage is never a pipeline.
            let expected = if stages.len() == 1 {
                stages[0].time(chunk * f64::from(fragments), Ns::ZERO, 0)
            } else {
                simulated
            };
            prop_assert!((model / expected - 1.0).abs() < 1e-9, "{model:?} {expected:?}");
        }

        #[test]
        fn overlapping_never_takes_longer_nor_less_than_the_slowest(
            parts in proptest::collection::vec(1e6f64..1e11, 1..6),
            bytes in 1.0f64..1e9,
        ) {
            let with = |overlap| time(&parts.iter().map(|&rate| stage(0.0, rate, overlap)).collect::<Vec<_>>(), bytes);
            let (apart, through) = (with(Overlap::StoreAndForward), with(Overlap::CutThrough));
            let slowest = parts.iter().map(|rate| Ns::of_bytes(bytes, *rate)).fold(Ns::ZERO, Ns::max);
            let pipelined = with(Overlap::Pipelined { chunk_bytes: 4096.0 });
            prop_assert!((through / slowest - 1.0).abs() < 1e-9);
            prop_assert!(through <= pipelined * (1.0 + 1e-9) && pipelined <= apart * (1.0 + 1e-9));
        }
    }
}
