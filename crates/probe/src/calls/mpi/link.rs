//! Two ranks: one makes the measured calls, and its peer does what they need at the other end.

use std::ffi::c_int;
use std::io;
use std::sync::Arc;

use super::super::Set;
use super::super::subject::{Body, On, Subject};
use super::board::{Board, Order};
use super::sockets;
use crate::Error;
use crate::mpi::{Library, SLOTS, done};

/// The rank that makes the measured calls.
pub(super) const MEASURED: c_int = 0;
/// The rank at the other end.
pub(super) const PEER: c_int = 1;
/// Tag of every message.
const TAG: c_int = 1;

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

    /// The most calls in a row: the first receive of several would fetch all their messages.
    const fn most(self) -> usize {
        match self.order() {
            Order::Give => 1,
            _ => SLOTS,
        }
    }
}

/// The measured rank's end.
#[derive(Clone)]
pub(super) struct Link(Arc<Ends>);

struct Ends {
    library: Library,
    board: Board,
}

/// The state for the calls of one function.
struct Calls {
    link: Link,
    order: Order,
    /// Calls that the peer expects and that have not been made.
    left: usize,
}

impl Link {
    /// Exchanges one message, as the paper does before it measures.
    pub(super) fn open(library: Library, board: Board) -> Result<Self, Error> {
        done(library.send(PEER, TAG))?;
        done(library.recv(PEER, TAG))?;
        Ok(Self(Arc::new(Ends { library, board })))
    }

    /// A function as a call to measure.
    pub(super) fn subject(&self, function: Function) -> Subject {
        let body = match function {
            Function::Send => self.body(function, |mpi, _| mpi.send(PEER, TAG)),
            Function::Recv => self.body(function, |mpi, _| mpi.recv(PEER, TAG)),
            Function::Isend => self.body(function, |mpi, slot| mpi.isend(PEER, TAG, slot)),
            Function::Irecv => self.body(function, |mpi, slot| mpi.irecv(PEER, TAG, slot)),
        };
        Subject {
            name: function.name().into(),
            set: Some(Set::Mpi),
            wrapped: true,
            most: function.most(),
            body,
        }
    }

    fn body(
        &self,
        function: Function,
        call: impl Fn(&Library, usize) -> c_int + Send + 'static,
    ) -> Box<dyn Body> {
        let calls = Calls { link: self.clone(), order: function.order(), left: 0 };
        On::new(calls)
            .ready(|calls, expected| calls.expect(calls.order, expected))
            .ready_for_copy(|calls, expected| {
                // What a copy of this process takes from a socket or a shared queue would be missing here.
                let order = if calls.order == Order::Give { Order::Deliver } else { calls.order };
                calls.expect(order, expected)
            })
            .clean(Calls::clean)
            .body(move |calls, index| {
                calls.left -= 1;
                // MPI's errors are positive; here negative results are errors.
                -(call(&calls.link.0.library, index) as isize)
            })
    }

    /// Of this many messages, how many wait in a socket until they are received.
    pub(super) fn in_socket(&self, messages: usize) -> Result<usize, Error> {
        let mut waited = 0;
        for _ in 0..messages {
            self.0.board.give(Order::Give, 1);
            let before = sockets::unread();
            done(self.0.library.recv(PEER, TAG))?;
            waited += usize::from(sockets::unread() < before);
            self.0.board.finish(|| ());
        }
        Ok(waited)
    }

    /// Ends MPI in both ranks.
    pub(super) fn close(&self) -> Result<(), Error> {
        self.0.board.give(Order::End, 0);
        done(self.0.library.end())
    }
}

impl Calls {
    fn expect(&mut self, order: Order, calls: usize) -> io::Result<()> {
        let Ends { library, board } = &*self.link.0;
        board.give(order, calls);
        self.left = calls;
        if order == Order::Deliver { done(library.barrier()).map_err(io::Error::other) } else { Ok(()) }
    }

    /// Waits for requests under way. Makes up for calls that only a single-stepped copy of this process has made, as
    /// the peer may be waiting for them.
    fn clean(&mut self) -> io::Result<()> {
        let Ends { library, board } = &*self.link.0;
        for _ in 0..std::mem::take(&mut self.left) {
            let made =
                if self.order == Order::Take { library.send(PEER, TAG) } else { library.recv(PEER, TAG) };
            done(made).map_err(io::Error::other)?;
        }
        done(library.wait()).map_err(io::Error::other)?;
        // What the library still holds back, the peer would wait for without end.
        let mut error = 0;
        board.finish(|| error = error.max(library.progress()));
        done(error).map_err(io::Error::other)
    }
}

/// The peer's part, until it is ended.
pub(super) fn serve(library: &Library, board: &Board) -> Result<(), Error> {
    done(library.recv(MEASURED, TAG))?;
    done(library.send(MEASURED, TAG))?;
    loop {
        let mut error = 0;
        let (order, messages) = board.take(|| error = error.max(library.progress()));
        done(error)?;
        if matches!(order, Order::Give | Order::Deliver) {
            (0..messages).try_for_each(|_| done(library.send(MEASURED, TAG)))?;
        }
        board.ready();
        match order {
            Order::End => return done(library.end()),
            Order::Take => (0..messages).try_for_each(|_| done(library.recv(MEASURED, TAG)))?,
            Order::Deliver => done(library.barrier())?,
            Order::Give => {}
        }
        board.finished();
    }
}
