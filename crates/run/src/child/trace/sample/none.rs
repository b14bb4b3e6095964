//! Where instructions are not decoded.

use std::io;
use std::time::Duration;

use libc::pid_t;

use super::Samples;

/// Nobody has one.
#[derive(Debug)]
pub(super) enum Sampler {}

/// Why a traced program's threads cannot be sampled.
pub fn why_no_samples() -> Option<&'static str> {
    Some("not available: without a library, threads are sampled on x86-64 alone")
}

impl Sampler {
    pub(super) fn begin(_: pid_t) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn tick(&mut self) -> Duration {
        match *self {}
    }

    pub(super) fn samples(&mut self) -> Samples {
        match *self {}
    }

    pub(super) fn add(&mut self, _: pid_t) {
        match *self {}
    }

    pub(super) fn begin_anew(&mut self) {
        match *self {}
    }

    pub(super) fn is_stopped(&mut self, _: pid_t) -> bool {
        match *self {}
    }

    pub(super) fn sample(&mut self, _: pid_t) -> io::Result<()> {
        match *self {}
    }

    pub(super) fn end(&mut self, _: pid_t) {
        match *self {}
    }
}
