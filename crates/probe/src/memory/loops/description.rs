//! The loops of a kind of register, described once: its registers, and the instructions of each loop.

/// Assembly lines, one (or one pair) for each displacement.
macro_rules! at {
    ([$($at:literal)*] $a:expr, $b:expr) => { concat!($($a, $at, $b, "\n"),*) };
    ([$($at:literal)*] $a:expr, $b:expr, $c:expr) => { concat!($($a, $at, $b, $at, $c, "\n"),*) };
}

/// The loops of a kind of register, as a module. Each row is a loop: its shape, its name, and the instruction that
/// stores, that loads, or first the one and then the other.
macro_rules! registers {
    ($(#[$doc:meta])* $module:ident $registers:tt $($shape:ident $name:ident $instructions:tt)*) => {
        $(#[$doc])*
        pub(super) mod $module {
            $($shape! { $name $instructions $registers })*
        }
    };
}
