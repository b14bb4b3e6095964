//! Thread-local storage at a fixed distance from the thread's register.

/// Defines `this()`, the calling thread's own `$kind`, all of whose bytes are zero when the thread begins.
///
/// The compiler reaches thread-local storage of a shared library through a function, which costs a short call as much as
/// all the rest. A library that is loaded with the program has its storage at a distance from the thread's register that
/// the dynamic linker finds out when it loads the library. `$symbol` names the storage, and must be the library's alone.
///
/// Zeros must be a value of `$kind`, which is dropped nowhere. Its alignment is at most 16.
#[macro_export]
macro_rules! thread_storage {
    ($symbol:literal, $kind:ty) => {
        const _: () = assert!(align_of::<$kind>() <= 16 && !::core::mem::needs_drop::<$kind>());

        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        ::core::arch::global_asm!(
            concat!(".pushsection .tbss.", $symbol, ", \"awT\", %nobits"),
            ".p2align 4",
            concat!(".hidden ", $symbol),
            concat!(".globl ", $symbol),
            concat!(".type ", $symbol, ", %object"),
            concat!(".size ", $symbol, ", {bytes}"),
            concat!($symbol, ":"),
            ".zero {bytes}",
            ".popsection",
            bytes = const ::core::mem::size_of::<$kind>(),
        );

        /// At a distance from FS.
        #[cfg(target_arch = "x86_64")]
        #[inline(always)]
        fn storage() -> *mut $kind {
            let address: *mut $kind;
            // SAFETY: reads the thread's register and the distance, which don't change while the thread lives.
            unsafe {
                ::core::arch::asm!(
                    concat!("mov {0}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                    "add {0}, qword ptr fs:[0]",
                    out(reg) address,
                    options(pure, nomem, nostack),
                );
            }
            address
        }

        /// At a distance from TPIDR_EL0.
        #[cfg(target_arch = "aarch64")]
        #[inline(always)]
        fn storage() -> *mut $kind {
            let address: *mut $kind;
            // SAFETY: reads the thread's register and the distance, which don't change while the thread lives.
            unsafe {
                ::core::arch::asm!(
                    "mrs {0}, tpidr_el0",
                    concat!("adrp {1}, :gottprel:", $symbol),
                    concat!("ldr {1}, [{1}, :gottprel_lo12:", $symbol, "]"),
                    "add {0}, {0}, {1}",
                    out(reg) address,
                    out(reg) _,
                    options(pure, nomem, nostack),
                );
            }
            address
        }

        /// As the compiler reaches it.
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        #[inline(always)]
        fn storage() -> *mut $kind {
            ::std::thread_local! {
                static STORAGE: ::core::mem::MaybeUninit<::core::cell::UnsafeCell<$kind>> =
                    const { ::core::mem::MaybeUninit::zeroed() };
            }
            STORAGE.with(|storage| storage.as_ptr().cast_mut().cast())
        }

        /// The calling thread's. It stays where it is until the thread has ended, and is not passed to others.
        #[inline(always)]
        pub fn this<'a>() -> &'a $kind {
            // SAFETY: the storage is as large, zeroed when a thread begins, and the thread's own; zeros are a value.
            unsafe { &*storage() }
        }
    };
}
