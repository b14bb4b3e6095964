//! Programs that gcc has built with -fsanitize=thread, under the library.
#![cfg(all(target_arch = "x86_64", target_env = "gnu"))]

mod common;
mod counts;
mod programs;
