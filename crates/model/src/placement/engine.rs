//! The simulator's core: CPUs with run queues, tasks that step through their programs, and events in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use coho_profile::Ns;
use fastrand::Rng;

use super::costs::{Cost, Costs};
use super::machine::{Distance, Machine, Slowed};
use super::program::Programs;
use super::state::{Channel, Cpu, State, Stats, Task};
use super::step::Step;
use super::tree::Tree;
use super::ule::{self, Ready};

/// How long a run takes, in ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Course {
    /// Until the programs are running steadily; what happens before does not count.
    pub(super) warm_up_ns: u64,
    pub(super) counted_ns: u64,
}

/// Runs programs on a machine that ULE sees as a tree. Equal seeds give equal runs.
pub(super) fn simulate(
    machine: &Machine,
    tree: &Tree,
    programs: &Programs,
    costs: &Costs,
    course: Course,
    seed: u64,
) -> Stats {
    let mut engine = Engine::new(machine, tree, programs, costs, Rng::with_seed(seed));
    engine.run(course.warm_up_ns);
    (engine.stats, engine.first_work) = (Stats::default(), None);
    engine.run(course.warm_up_ns + course.counted_ns);
    engine.stats.duration_ns = course.counted_ns;
    engine.stats
}

pub(super) struct Engine<'a> {
    pub(super) machine: &'a Machine,
    tree: &'a Tree,
    pub(super) programs: &'a Programs,
    pub(super) costs: &'a Costs,
    pub(super) rng: Rng,
    /// Draws how long each piece of the programs' work takes, which is the same under every tree.
    pub(super) lengths: Rng,
    pub(super) now: u64,
    /// Ordered by time, then by the order of creation.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    made: u64,
    pub(super) cpus: Vec<Cpu>,
    /// Number of tasks that run on or wait for each CPU.
    pub(super) loads: Vec<usize>,
    pub(super) tasks: Vec<Task>,
    pub(super) channels: Vec<Channel>,
    unfair_since: Option<u64>,
    pub(super) first_work: Option<u64>,
    pub(super) stats: Stats,
}

/// What happens. A CPU's events from an earlier turn are void.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The running task has finished its step.
    Done {
        cpu: usize,
        turn: u64,
    },
    /// An idle CPU has noticed work.
    Begin {
        cpu: usize,
    },
    /// The running task's slice may be over.
    Slice {
        cpu: usize,
        run: u64,
    },
    /// A sleeping task's time is up.
    Timer {
        task: usize,
    },
    Balance,
}

impl<'a> Engine<'a> {
    pub(super) fn new(
        machine: &'a Machine,
        tree: &'a Tree,
        programs: &'a Programs,
        costs: &'a Costs,
        mut rng: Rng,
    ) -> Self {
        let n = tree.len();
        let channel =
            |&messages: &u32| Channel { messages: (0..messages).map(|_| 0).collect(), ..Channel::default() };
        let mut engine = Self {
            machine,
            tree,
            programs,
            costs,
            lengths: rng.fork(),
            rng,
            now: 0,
            events: BinaryHeap::new(),
            made: 0,
            cpus: (0..n).map(|_| Cpu::default()).collect(),
            loads: vec![0; n],
            tasks: Vec::new(),
            channels: programs.channels.iter().map(channel).collect(),
            unfair_since: None,
            first_work: None,
            stats: Stats::default(),
        };
        for &program in &programs.begun {
            let any = engine.rng.usize(..n);
            let cpu = programs.programs[program].held.unwrap_or(any);
            let task = engine.new_task(program, cpu, None);
            engine.put(task, cpu, cpu);
        }
        engine.plan_balance();
        engine
    }

    /// Processes all events up to a time.
    fn run(&mut self, end: u64) {
        while self.step(end) {}
        self.watch(end);
        self.now = end;
        (0..self.cpus.len()).for_each(|cpu| self.settle(cpu));
    }

    /// Processes the next event, unless it is after the end.
    pub(super) fn step(&mut self, end: u64) -> bool {
        if self.events.peek().is_none_or(|Reverse((at, ..))| *at > end) {
            return false;
        }
        let Some(Reverse((at, _, event))) = self.events.pop() else { return false };
        self.watch(at);
        self.now = at;
        match event {
            Event::Done { cpu, turn } if turn == self.cpus[cpu].turn => self.proceed(cpu),
            Event::Begin { cpu } => {
                self.cpus[cpu].waking = false;
                if self.cpus[cpu].running.is_none() {
                    self.next(cpu);
                }
            }
            Event::Slice { cpu, run } if run == self.cpus[cpu].run => self.slice(cpu),
            Event::Timer { task } => {
                let cpu = self.tasks[task].cpu;
                self.wake(task, cpu);
            }
            Event::Balance => self.balance(),
            Event::Done { .. } | Event::Slice { .. } => {}
        }
        true
    }

    /// Records how long CPUs had nothing to do while tasks waited for others.
    fn watch(&mut self, until: u64) {
        let crowded =
            self.loads.iter().zip(&self.cpus).any(|(load, cpu)| *load > 1 && !cpu.waiting.is_empty());
        if crowded && self.loads.contains(&0) {
            let spell = until - *self.unfair_since.get_or_insert(self.now);
            self.stats.longest_unfair_ns = self.stats.longest_unfair_ns.max(spell);
        } else {
            self.unfair_since = None;
        }
    }

    pub(super) fn plan(&mut self, after: Ns, event: Event) {
        self.made += 1;
        self.events.push(Reverse((self.now + after.0.ceil() as u64, self.made, event)));
    }

    pub(super) fn new_task(&mut self, program: usize, cpu: usize, parent: Option<usize>) -> usize {
        let task = Task {
            program,
            step: 0,
            cpu,
            ran_at: self.now,
            lines_at: cpu,
            float: false,
            due: Ns::ZERO,
            parent,
            ended_children: 0,
            state: State::Ready,
        };
        let free = self.tasks.iter().position(|task| task.state == State::Ended);
        let at = free.unwrap_or(self.tasks.len());
        match free {
            Some(at) => self.tasks[at] = task,
            None => self.tasks.push(task),
        }
        at
    }

    /// Makes a task ready; returns what that costs the waking CPU.
    pub(super) fn wake(&mut self, task: usize, waker: usize) -> Ns {
        let Task { cpu: last, ran_at, program, .. } = self.tasks[task];
        let ready = Ready { last, waker, rested_ns: self.now - ran_at };
        let cpu = self.programs.programs[program]
            .held
            .unwrap_or_else(|| ule::pick_cpu(self.tree, &self.loads, ready, &mut self.rng));
        let nearness = match self.machine.distance(waker, cpu) {
            Distance::Same => 0,
            Distance::Core | Distance::L2 => 1,
            Distance::L3 => 2,
            Distance::Far => 3,
        };
        self.stats.wakes[nearness] += 1;
        self.stats.halted += u64::from(self.put(task, cpu, waker));
        self.costs.time(Cost::Wake) + self.costs[Cost::WakeLines] * self.machine.line(waker, cpu, self.costs)
    }

    /// Puts a ready task in a CPU's queue, and wakes that CPU if it is idle; returns whether it had to leave a halt.
    fn put(&mut self, task: usize, cpu: usize, waker: usize) -> bool {
        (self.tasks[task].cpu, self.tasks[task].state) = (cpu, State::Ready);
        self.loads[cpu] += 1;
        self.cpus[cpu].waiting.push_back(task);
        self.notify(cpu, waker)
    }

    /// Wakes a CPU that has nothing to do; returns whether it had to leave a halt.
    fn notify(&mut self, cpu: usize, waker: usize) -> bool {
        if self.cpus[cpu].running.is_some() || self.cpus[cpu].waking {
            return false;
        }
        let halted = !self.spins(cpu);
        let exit = if halted { self.costs.time(Cost::IdleExit) } else { Ns::ZERO };
        self.cpus[cpu].waking = true;
        self.plan(self.machine.line(waker, cpu, self.costs) + exit, Event::Begin { cpu });
        halted
    }

    fn spins(&self, cpu: usize) -> bool {
        let Cpu { idle_since, switches: (interval, counts), .. } = self.cpus[cpu];
        let recent = match (self.now / ule::STATCLOCK_NS).saturating_sub(interval) {
            0 => counts[0] + counts[1],
            1 => counts[0],
            _ => 0,
        };
        ule::may_spin(self.tree, cpu)
            && recent > ule::SPIN_THRESHOLD
            && Ns((self.now - idle_since) as f64) <= self.costs.time(Cost::Spin)
    }

    /// Gives an idle CPU something to do: its own tasks first, then another's.
    fn next(&mut self, cpu: usize) {
        if let Some(task) = self.cpus[cpu].waiting.pop_front() {
            return self.begin(cpu, task, Ns::ZERO);
        }
        let movable: Vec<bool> = (0..self.cpus.len()).map(|cpu| self.movable(cpu).is_some()).collect();
        let waiting = |other: usize| movable[other];
        if let Some(victim) = ule::steal_from(self.tree, cpu, &self.loads, waiting, &mut self.rng)
            && let Some(task) = self.take_movable(victim)
        {
            self.loads[victim] -= 1;
            self.loads[cpu] += 1;
            let lines = self.costs[Cost::WakeLines] * self.machine.line(victim, cpu, self.costs);
            return self.begin(cpu, task, lines);
        }
        self.cpus[cpu].idle_since = self.now;
        self.pace_siblings(cpu);
    }

    /// The position in a CPU's queue of the first task that another CPU may run.
    fn movable(&self, cpu: usize) -> Option<usize> {
        let held = |task: &usize| self.programs.programs[self.tasks[*task].program].held.is_some();
        self.cpus[cpu].waiting.iter().position(|task| !held(task))
    }

    fn take_movable(&mut self, cpu: usize) -> Option<usize> {
        self.movable(cpu).and_then(|at| self.cpus[cpu].waiting.remove(at))
    }

    fn begin(&mut self, cpu: usize, task: usize, extra: Ns) {
        let interval = self.now / ule::STATCLOCK_NS;
        let state = &mut self.cpus[cpu];
        state.switches = match interval - state.switches.0 {
            0 => state.switches,
            1 => (interval, [0, state.switches.1[0]]),
            _ => (interval, [0, 0]),
        };
        state.switches.1[0] += 1;
        (state.running, state.run, state.since) = (Some(task), state.run + 1, self.now);
        let (run, waiting) = (state.run, state.waiting.len());
        let Task { program, lines_at, .. } = self.tasks[task];
        let lines = self.programs.programs[program].lines / self.costs[Cost::LinesInFlight];
        let fetch = lines * self.machine.line(lines_at, cpu, self.costs);
        self.stats.moves += u64::from(lines_at != cpu);
        let task = &mut self.tasks[task];
        (task.cpu, task.lines_at, task.state) = (cpu, cpu, State::Running);
        let due = std::mem::take(&mut task.due);
        if let Some(slice) = ule::slice_ns(waiting.max(1)) {
            self.plan(Ns(slice as f64), Event::Slice { cpu, run });
        }
        self.take(cpu, self.costs.time(Cost::Switch) + fetch + extra + due);
        self.pace_siblings(cpu);
    }

    /// Keeps the running task busy with work that takes this long at full speed.
    fn take(&mut self, cpu: usize, time: Ns) {
        self.settle(cpu);
        self.cpus[cpu].left = time;
        self.pace(cpu);
    }

    /// Accounts for the time since the last change of pace.
    fn settle(&mut self, cpu: usize) {
        let cpu = &mut self.cpus[cpu];
        if cpu.running.is_some() {
            let elapsed = self.now - cpu.since;
            cpu.left = (cpu.left - Ns(elapsed as f64) * cpu.speed).max(Ns::ZERO);
            self.stats.busy_ns += elapsed;
        }
        cpu.since = self.now;
    }

    /// Sets a CPU's speed by what its neighbours do, and schedules the end of its step.
    fn pace(&mut self, cpu: usize) {
        let floats = |cpu: usize| self.cpus[cpu].running.is_some_and(|task| self.tasks[task].float);
        let slowed =
            self.machine.siblings(cpu).iter().filter(|(other, _)| self.cpus[*other].running.is_some());
        let speed = slowed.map(|(other, sharing)| match sharing {
            Slowed::ByCore => self.costs[Cost::SmtSpeed],
            Slowed::ByModule if floats(cpu) && floats(*other) => self.costs[Cost::ModuleFloatSpeed],
            Slowed::ByModule => self.costs[Cost::ModuleSpeed],
        });
        let speed = speed.fold(1.0, f64::min);
        let state = &mut self.cpus[cpu];
        state.speed = speed;
        state.turn += 1;
        let (left, turn) = (state.left, state.turn);
        self.plan(left / speed, Event::Done { cpu, turn });
    }

    fn pace_siblings(&mut self, cpu: usize) {
        let machine = self.machine;
        for &(other, _) in machine.siblings(cpu) {
            if self.cpus[other].running.is_some() {
                self.settle(other);
                self.pace(other);
            }
        }
    }

    /// Continues the running task's program until something takes time or stops it.
    fn proceed(&mut self, cpu: usize) {
        let Some(task) = self.cpus[cpu].running else { return };
        self.settle(cpu);
        loop {
            match self.operate(task, cpu) {
                Step::Takes(time) if time > Ns::ZERO => return self.take(cpu, time),
                Step::Takes(_) => {}
                Step::Stops(state) => {
                    self.tasks[task].state = state;
                    return self.rest(cpu);
                }
            }
        }
    }

    /// Takes the running task off the CPU.
    fn rest(&mut self, cpu: usize) {
        self.settle(cpu);
        let state = &mut self.cpus[cpu];
        let task = state.running.take();
        state.turn += 1;
        self.loads[cpu] -= 1;
        if let Some(task) = task {
            self.tasks[task].ran_at = self.now;
        }
        self.next(cpu);
    }

    fn slice(&mut self, cpu: usize) {
        let (state, run) = (&self.cpus[cpu], self.cpus[cpu].run);
        let Some(task) = state.running else { return };
        if state.waiting.is_empty() {
            return self.plan(Ns(ule::STATCLOCK_NS as f64), Event::Slice { cpu, run });
        }
        // The rest of a step is done when the task runs again.
        self.settle(cpu);
        let left = self.cpus[cpu].left;
        self.tasks[task].state = State::Ready;
        self.tasks[task].ran_at = self.now;
        let state = &mut self.cpus[cpu];
        state.running = None;
        state.turn += 1;
        state.waiting.push_back(task);
        let first = state.waiting.pop_front();
        self.tasks[task].due += left;
        if let Some(first) = first {
            self.begin(cpu, first, Ns::ZERO);
        }
    }

    fn balance(&mut self) {
        let mut moves = Vec::new();
        let movable: Vec<bool> = (0..self.cpus.len()).map(|cpu| self.movable(cpu).is_some()).collect();
        let waiting = |cpu: usize| movable[cpu];
        ule::balance(self.tree, &mut self.loads, waiting, &mut self.rng, |from, to| moves.push((from, to)));
        for (from, to) in moves {
            if let Some(task) = self.take_movable(from) {
                self.tasks[task].cpu = to;
                self.cpus[to].waiting.push_back(task);
                // The balancer runs on the first CPU.
                self.notify(to, 0);
            }
        }
        self.plan_balance();
    }

    fn plan_balance(&mut self) {
        let after = Ns(ule::BALANCE_NS as f64) * (0.5 + self.rng.f64());
        self.plan(after, Event::Balance);
    }
}
