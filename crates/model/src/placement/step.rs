//! What each step of a program does to the simulated machine.

use coho_profile::Ns;
use fastrand::Rng;

use super::costs::Cost;
use super::engine::{Engine, Event};
use super::program::Op;
use super::state::State;

/// The result of a step.
pub(super) enum Step {
    /// It takes this long at full speed.
    Takes(Ns),
    /// The task leaves its CPU.
    Stops(State),
}

impl Engine<'_> {
    /// Performs the next step of the task that runs on a CPU.
    pub(super) fn operate(&mut self, task: usize, cpu: usize) -> Step {
        let program = &self.programs.programs[self.tasks[task].program];
        let at = self.tasks[task].step;
        let op = program.ops.get(at).copied().unwrap_or(Op::Exit);
        self.tasks[task].step += 1;
        self.tasks[task].float = matches!(op, Op::Float(_));
        match op {
            Op::Run(time) | Op::Float(time) => Step::Takes(time),
            Op::RunAbout(mean) => Step::Takes(about(mean, &mut self.lengths)),
            Op::Send(channel) => {
                let channel = &mut self.channels[channel];
                channel.messages.push_back(cpu);
                match channel.receivers.pop_front() {
                    Some(receiver) => Step::Takes(self.wake(receiver, cpu)),
                    None => Step::Takes(Ns::ZERO),
                }
            }
            Op::Receive(channel) => {
                let Some(from) = self.channels[channel].messages.pop_front() else {
                    // When woken, it tries again.
                    self.tasks[task].step = at;
                    self.channels[channel].receivers.push_back(task);
                    return Step::Stops(State::Waits);
                };
                let line = self.machine.line(from, cpu, self.costs);
                Step::Takes(self.costs[Cost::MessageLines] * line)
            }
            Op::Fork(program) => {
                let child = self.new_task(program, cpu, Some(task));
                Step::Takes(self.wake(child, cpu))
            }
            Op::AwaitChild => {
                let parent = &mut self.tasks[task];
                if parent.ended_children == 0 {
                    parent.step = at;
                    return Step::Stops(State::AwaitsChild);
                }
                parent.ended_children -= 1;
                Step::Takes(Ns::ZERO)
            }
            Op::Sleep(mean) => {
                let after = about(mean, &mut self.rng);
                self.plan(after, Event::Timer { task });
                Step::Stops(State::Waits)
            }
            Op::Count => {
                match self.first_work {
                    None => self.first_work = Some(self.now),
                    Some(first) => {
                        self.stats.work += 1;
                        self.stats.work_ns = self.now - first;
                    }
                }
                Step::Takes(Ns::ZERO)
            }
            Op::Jump(to) => {
                self.tasks[task].step = to;
                // A jump takes an instruction, so that no loop stands still.
                Step::Takes(Ns(1.0))
            }
            Op::Exit => self.exit(task, cpu, at),
        }
    }

    /// Notifies the parent, which takes time, then ends.
    fn exit(&mut self, task: usize, cpu: usize, at: usize) -> Step {
        let Some(parent) = self.tasks[task].parent.take() else { return Step::Stops(State::Ended) };
        self.tasks[task].step = at;
        self.tasks[parent].ended_children += 1;
        match self.tasks[parent].state {
            State::AwaitsChild => Step::Takes(self.wake(parent, cpu)),
            _ => Step::Takes(Ns::ZERO),
        }
    }
}

/// An exponentially distributed time with the given mean.
fn about(mean: Ns, rng: &mut Rng) -> Ns {
    -mean * (1.0 - rng.f64()).ln()
}
