//! Sets of CPUs as the kernel takes them.

const WORDS: usize = 128;
/// The most CPUs that Linux supports.
pub const MOST: u32 = WORDS as u32 * 64;

/// A thread's affinity mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mask([u64; WORDS]);

impl Mask {
    /// No CPU.
    pub const fn new() -> Self {
        Self([0; WORDS])
    }

    /// The calling thread's.
    pub fn current() -> Option<Self> {
        let mut mask = Self::new();
        let bytes = size_of_val(&mask.0);
        // SAFETY: the kernel writes at most the given number of bytes.
        let got = unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, bytes, mask.0.as_mut_ptr()) };
        (got > 0).then_some(mask)
    }

    /// Makes it the calling thread's mask; returns false if the kernel refuses, and the mask stays as it was.
    pub fn apply(&self) -> bool {
        // SAFETY: the kernel reads exactly the given number of bytes.
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&self.0), self.0.as_ptr()) == 0 }
    }

    /// Adds a CPU below [`MOST`].
    pub fn insert(&mut self, cpu: u32) {
        self.0[(cpu / 64) as usize] |= 1 << (cpu % 64);
    }

    /// Whether it has the CPU.
    pub fn contains(&self, cpu: u32) -> bool {
        cpu < MOST && self.0[(cpu / 64) as usize] >> (cpu % 64) & 1 == 1
    }

    /// Its CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let words = self.0.iter().zip(0..).filter(|(word, _)| **word != 0);
        words.flat_map(|(word, at)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 64 * at + bit)
        })
    }
}

impl Default for Mask {
    fn default() -> Self {
        Self::new()
    }
}

impl FromIterator<u32> for Mask {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut mask = Self::new();
        cpus.into_iter().for_each(|cpu| mask.insert(cpu));
        mask
    }
}
