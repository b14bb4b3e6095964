//! The papers whose experiments coho repeats, by authors, title and year.

/// A paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paper {
    /// Its name in `published:NAME`.
    pub name: &'static str,
    /// As it is cited: `Kawabe & Furuya`.
    pub authors: &'static str,
    /// All authors, for the bibliography.
    pub all_authors: &'static str,
    /// As printed.
    pub title: &'static str,
    /// When it appeared, as far as it is known.
    pub year: &'static str,
}

/// All of them, in the order of the experiments.
pub const PAPERS: [Paper; 5] = [
    Paper {
        name: "kawabe-furuya",
        authors: "Kawabe & Furuya",
        all_authors: "S. Kawabe, E. Furuya",
        title: "Performance Measurement Method of Cache Coherency Effects on a large Intel Xeon Processor System",
        year: "about 2014",
    },
    Paper {
        name: "shimosawa-hori-ishikawa",
        authors: "Shimosawa, Hori & Ishikawa",
        all_authors: "T. Shimosawa, A. Hori, Y. Ishikawa",
        title: "Towards a Cache-aware Operating System in Many-core Architecture",
        year: "about 2011",
    },
    Paper {
        name: "nakamura-fbs",
        authors: "Nakamura et al.",
        all_authors: "T. Nakamura, K. Takayama, H. Aoki, A. Matsui, N. Sukegawa",
        title: "Fast Barrier Synchronization Mechanism of SR11000 model H1",
        year: "2003",
    },
    Paper {
        name: "hamada-dimmnet",
        authors: "Hamada et al.",
        all_authors: "Y. Hamada, H. Nakajo, N. Tanabe, T. Kudoh",
        title: "Performance Estimation of a Cluster with a NIC Plugged into a Memory Slot",
        year: "about 2001",
    },
    Paper {
        name: "kimoto-bulldozer",
        authors: "Kimoto",
        all_authors: "M. Kimoto",
        title: "続・HyperThreadingとAMD Bulldozerとカーネルスケジューリング (HyperThreading, AMD Bulldozer and kernel \
                scheduling, part 2)",
        year: "2015",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_paper_has_published_figures() {
        for one in PAPERS {
            assert!(coho_profile::published::read(one.name).is_ok(), "{}", one.name);
        }
    }
}
