//! Exchanging messages with another rank, and timing it.

use std::time::Duration;

use anyhow::Result;
use coho_probe::clock::Clock;
use coho_probe::mpi::{Library, done};
use coho_profile::order::median;

use super::order::{Kind, Order};

/// What messages are for.
const DATA: i32 = 3;
const ORDER: i32 = 4;
const RESULT: i32 = 5;
/// How long a rank that waits for an order or a result sleeps between one look and the next.
const PAUSE: Duration = Duration::from_micros(100);
/// Messages in a row, of which each but the first adds a gap.
const ROW: u64 = 64;

/// A rank that carries out orders.
pub(super) struct Rank<'l> {
    library: &'l Library,
    clock: Clock,
    buffer: Vec<u8>,
}

impl<'l> Rank<'l> {
    pub(super) fn new(library: &'l Library) -> Self {
        Self { library, clock: Clock::get(), buffer: Vec::new() }
    }

    /// Carries out rank 0's orders until it ends.
    pub(super) fn follow(mut self) -> Result<()> {
        loop {
            self.library.expect_asleep(0, ORDER, PAUSE)?;
            let mut bytes = [0; Order::BYTES];
            done(self.library.receive_bytes(&mut bytes, 0, ORDER))?;
            let order = Order::of_bytes(bytes);
            if order.kind == Kind::End {
                return Ok(());
            }
            let times = self.carry_out(order)?;
            if order.is_first {
                let bytes: Vec<u8> = times.iter().flat_map(|time| time.to_le_bytes()).collect();
                done(self.library.send_bytes(&bytes, 0, RESULT))?;
            }
        }
    }

    pub(super) fn send_order(&self, rank: usize, order: Order) -> Result<()> {
        Ok(done(self.library.send_bytes(&order.to_bytes(), rank, ORDER))?)
    }

    /// What a rank that began has timed.
    pub(super) fn result_of(&self, rank: usize, order: Order) -> Result<Vec<f64>> {
        self.library.expect_asleep(rank, RESULT, PAUSE)?;
        let mut bytes = vec![0; 8 * order.results()];
        done(self.library.receive_bytes(&mut bytes, rank, RESULT))?;
        Ok(bytes.chunks_exact(8).map(|time| f64::from_le_bytes(time.try_into().expect("eight"))).collect())
    }

    /// What it takes, in ns: nothing for the one that answers.
    pub(super) fn carry_out(&mut self, order: Order) -> Result<Vec<f64>> {
        self.buffer.resize(order.bytes.max(1) as usize, 1);
        let mut times = Vec::with_capacity(order.results());
        // What is first used is not timed, and both have begun.
        self.ping_pong(order, 1)?;
        for _ in 0..order.bursts {
            match order.kind {
                Kind::Ends => times.extend(self.ends(order)?),
                _ => times.push(self.ping_pong(order, order.repeats)?),
            }
        }
        Ok(times)
    }

    fn send(&self, order: Order) -> Result<()> {
        let bytes = &self.buffer[..order.bytes as usize];
        Ok(done(self.library.send_bytes(bytes, order.peer as usize, DATA))?)
    }

    fn receive(&mut self, order: Order) -> Result<()> {
        let bytes = &mut self.buffer[..order.bytes as usize];
        Ok(done(self.library.receive_bytes(bytes, order.peer as usize, DATA))?)
    }

    /// One-way time of messages of which each is answered.
    fn ping_pong(&mut self, order: Order, repeats: u64) -> Result<f64> {
        let begun = self.clock.now();
        for _ in 0..repeats {
            if order.is_first {
                self.send(order)?;
                self.receive(order)?;
            } else {
                self.receive(order)?;
                self.send(order)?;
            }
        }
        Ok(self.clock.ns(self.clock.now() - begun) / (2 * repeats) as f64)
    }

    /// How long sending one message and receiving one that has come keeps this rank busy, and the gap between messages
    /// that follow each other.
    fn ends(&mut self, order: Order) -> Result<[f64; 3]> {
        let one_way = self.ping_pong(order, order.repeats)?;
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        for _ in 0..order.repeats {
            if !order.is_first {
                self.receive(order)?;
                self.send(order)?;
                continue;
            }
            let begun = self.clock.now();
            self.send(order)?;
            let sent = self.clock.now();
            sends.push(self.clock.ns(sent - begun));
            while self.clock.ns(self.clock.now() - sent) < 6.0 * one_way {
                std::hint::spin_loop();
            }
            let begun = self.clock.now();
            self.receive(order)?;
            receives.push(self.clock.ns(self.clock.now() - begun));
        }
        let row = self.row(order, ROW)? - self.row(order, 1)?;
        let middle = |mut times: Vec<f64>| {
            times.sort_by(f64::total_cmp);
            if times.is_empty() { 0.0 } else { median(&times) }
        };
        Ok([middle(sends), middle(receives), row / (ROW - 1) as f64])
    }

    /// Time of messages in a row, until their one answer has come.
    fn row(&mut self, order: Order, messages: u64) -> Result<f64> {
        let begun = self.clock.now();
        for _ in 0..messages {
            if order.is_first {
                self.send(order)?;
            } else {
                self.receive(order)?;
            }
        }
        if order.is_first {
            self.receive(order)?;
        } else {
            self.send(order)?;
        }
        Ok(self.clock.ns(self.clock.now() - begun))
    }
}
