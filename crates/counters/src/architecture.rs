//! What both architectures write alike but for the words.

/// One of two texts, such as the instructions that do the same.
#[cfg(target_arch = "x86_64")]
macro_rules! by_architecture {
    ($x86_64:literal, $aarch64:literal) => {
        $x86_64
    };
}

/// One of two texts, such as the instructions that do the same.
#[cfg(target_arch = "aarch64")]
macro_rules! by_architecture {
    ($x86_64:literal, $aarch64:literal) => {
        $aarch64
    };
}

pub(crate) use by_architecture;
