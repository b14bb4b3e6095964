//! The library where it works.

mod allocations;
mod arena;
mod begin;
mod counted;
mod handlers;
mod interpose;
mod modules;
mod signals;
mod slot;
mod steps;
mod thread;
mod tick;

/// The functions that the library stands before.
mod next {
    coho_preload::next_functions! {
        pthread_create
        sigaction signal pthread_sigmask sigprocmask sigwait sigwaitinfo sigtimedwait signalfd sigpending
        dlclose _exit _Exit quick_exit
    }
}
