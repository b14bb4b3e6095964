//! Which CPU each rank runs on (Nakamura et al., mapping).

#[cfg(feature = "topology")]
mod order;

/// How ranks are laid out on the machine. Each core's second hardware threads come after all first ones. Where the topology
/// is not known, or the crate was built without it, ranks take the CPUs by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mapping {
    /// Fills a module, cache or package before the next: threads synchronise faster.
    #[default]
    Sequential,
    /// Halves the machine again and again, so that ranks spread over packages and caches first: each thread has more
    /// cache to itself.
    BinaryTree,
}
