//! The caches of a CPU, which determine the size of the known work.

use std::fs;
use std::path::Path;

/// Sizes of a CPU's caches, in bytes; what is not known is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caches {
    /// Size of a line.
    pub line_bytes: usize,
    /// Level-1 data cache.
    pub l1d_bytes: Option<usize>,
    /// Level-1 instruction cache.
    pub l1i_bytes: Option<usize>,
    /// Level-2 cache.
    pub l2_bytes: Option<usize>,
    /// Level-3 cache.
    pub l3_bytes: Option<usize>,
}

impl Caches {
    /// The caches of the CPU that the caller runs on, as the kernel lists them.
    pub fn here() -> Self {
        let cpu = coho_platform::pin::current().unwrap_or(0);
        Self::listed(Path::new(&format!("/sys/devices/system/cpu/cpu{cpu}/cache")))
    }

    fn listed(directory: &Path) -> Self {
        let mut caches =
            Self { line_bytes: 64, l1d_bytes: None, l1i_bytes: None, l2_bytes: None, l3_bytes: None };
        for index in 0.. {
            let read = |file: &str| fs::read_to_string(directory.join(format!("index{index}/{file}"))).ok();
            let Some(level) = read("level") else { break };
            let size = read("size").and_then(|size| bytes(size.trim()));
            let kind = read("type").unwrap_or_default();
            match (level.trim(), kind.trim()) {
                ("1", "Instruction") => caches.l1i_bytes = size,
                ("1", _) => {
                    caches.l1d_bytes = size;
                    let line = read("coherency_line_size").and_then(|line| line.trim().parse().ok());
                    caches.line_bytes = line.filter(|line: &usize| line.is_power_of_two()).unwrap_or(64);
                }
                ("2", _) => caches.l2_bytes = size,
                ("3", _) => caches.l3_bytes = size,
                _ => {}
            }
        }
        caches
    }
}

/// The kernel's `48K`.
fn bytes(size: &str) -> Option<usize> {
    let (number, unit) = match size.strip_suffix(['K', 'M']) {
        Some(number) => (number, if size.ends_with('K') { 1 << 10 } else { 1 << 20 }),
        None => (size, 1),
    };
    number.parse::<usize>().ok()?.checked_mul(unit).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("48K"), Some(48 << 10));
        assert_eq!(bytes("107520K"), Some(105 << 20));
        assert_eq!(bytes("2M"), Some(2 << 20));
        assert_eq!(bytes("0K"), None);
        assert_eq!(bytes("K"), None);
        assert_eq!(bytes(&format!("{}K", usize::MAX)), None);
    }

    #[test]
    fn a_cpu_that_lists_no_caches_has_none() {
        let caches = Caches::listed(Path::new("/nonexistent"));
        assert_eq!((caches.l1d_bytes, caches.l3_bytes, caches.line_bytes), (None, None, 64));
        assert!(Caches::here().line_bytes.is_power_of_two());
    }
}
