//! Two ranks: one makes the measured calls, and its peer does what they need at the other end.

use std::ffi::c_int;
use std::io;
use std::sync::Arc;

use super::super::Set;
use super::super::subject::{Body, On, Subject};
use super::library::{Library, SLOTS, done};
use crate::Error;

/// The rank that makes the measured calls.
pub(super) const MEASURED: c_int = 0;
/// The rank at the other end.
pub(super) const PEER: c_int = 1;
/// Tag of what is measured.
const TAG: c_int = 1;
/// Tag of orders to the peer.
const ORDERS: c_int = 2;

/// What the peer must do with a number of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    End,
    /// Receive, after a barrier.
    Take,
    /// Send, before a barrier (Shimosawa, Hori & Ishikawa: a receive finds its message there).
    Give,
}

/// The paper's functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Send,
    Recv,
    Isend,
    Irecv,
}

impl Function {
    /// In the paper's order.
    pub(super) const ALL: [Self; 4] = [Self::Send, Self::Recv, Self::Isend, Self::Irecv];

    /// MPI's name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Send => "MPI_Send",
            Self::Recv => "MPI_Recv",
            Self::Isend => "MPI_Isend",
            Self::Irecv => "MPI_Irecv",
        }
    }

    /// What the peer does meanwhile.
    const fn order(self) -> Order {
        match self {
            Self::Send | Self::Isend => Order::Take,
            Self::Recv | Self::Irecv => Order::Give,
        }
    }
}

/// The measured rank's end.
#[derive(Clone)]
pub(super) struct Link(Arc<Library>);

/// The state for the calls of one function.
struct Calls {
    link: Link,
    order: Order,
    /// Calls that the peer expects and that have not been made.
    left: usize,
}

impl Link {
    /// Exchanges one message, as the paper does before it measures.
    pub(super) fn open(library: Library) -> Result<Self, Error> {
        done(library.send(PEER, TAG))?;
        done(library.recv(PEER, TAG))?;
        Ok(Self(Arc::new(library)))
    }

    /// A function as a call to measure.
    pub(super) fn subject(&self, function: Function) -> Subject {
        let body = match function {
            Function::Send => self.body(function, |mpi, _| mpi.send(PEER, TAG)),
            Function::Recv => self.body(function, |mpi, _| mpi.recv(PEER, TAG)),
            Function::Isend => self.body(function, |mpi, slot| mpi.isend(PEER, TAG, slot)),
            Function::Irecv => self.body(function, |mpi, slot| mpi.irecv(PEER, TAG, slot)),
        };
        Subject { name: function.name().into(), set: Some(Set::Mpi), wrapped: true, most: SLOTS, body }
    }

    fn body(
        &self,
        function: Function,
        call: impl Fn(&Library, usize) -> c_int + Send + 'static,
    ) -> Box<dyn Body> {
        let ready = |calls: &mut Calls, expected| {
            calls.left = expected;
            calls.link.order(calls.order, expected)
        };
        let calls = Calls { link: self.clone(), order: function.order(), left: 0 };
        On::new(calls).ready(ready).clean(Calls::clean).body(move |calls, index| {
            calls.left -= 1;
            // MPI's errors are positive; here negative results are errors.
            -(call(&calls.link.0, index) as isize)
        })
    }

    fn order(&self, order: Order, calls: usize) -> io::Result<()> {
        let sent = done(self.0.send_words([order as u32, calls as u32], PEER, ORDERS));
        sent.and_then(|()| done(self.0.barrier())).map_err(io::Error::other)
    }

    /// Ends MPI in both ranks.
    pub(super) fn close(&self) -> Result<(), Error> {
        self.order(Order::End, 0).map_err(|error| Error::work(error.to_string()))?;
        done(self.0.end())
    }
}

impl Calls {
    /// Waits for requests under way. Makes up for calls that only a single-stepped copy of this process has made, as
    /// the peer may be waiting for them.
    fn clean(&mut self) -> io::Result<()> {
        let mpi = &self.link.0;
        for _ in 0..std::mem::take(&mut self.left) {
            let made = if self.order == Order::Take { mpi.send(PEER, TAG) } else { mpi.recv(PEER, TAG) };
            done(made).map_err(io::Error::other)?;
        }
        done(mpi.wait()).map_err(io::Error::other)
    }
}

/// The peer's part, until it is ended.
pub(super) fn serve(library: &Library) -> Result<(), Error> {
    done(library.recv(MEASURED, TAG))?;
    done(library.send(MEASURED, TAG))?;
    loop {
        let [order, calls] = library.recv_words(MEASURED, ORDERS)?;
        if order == Order::Give as u32 {
            (0..calls).try_for_each(|_| done(library.send(MEASURED, TAG)))?;
        }
        done(library.barrier())?;
        if order == Order::Take as u32 {
            (0..calls).try_for_each(|_| done(library.recv(MEASURED, TAG)))?;
        }
        if order == Order::End as u32 {
            return done(library.end());
        }
    }
}
