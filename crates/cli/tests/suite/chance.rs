//! Of what is equal, nothing is called better, slower or different more often than chance allows.
//!
//! Every figure here comes from one distribution: a heavy tail on one side, a level that drifts within a run and from run to
//! run, and passes that are off by a common amount. So every difference that is told is one too many.

use coho_model::history::{self, Host, Survey};
use coho_probe::statistics;
use coho_profile::{
    BarrierTime, BlockState, CacheType, Coherence, Estimate, Home, Idle, Memory, MemoryRate, Operation, Pair,
    PairMethod, Profile, Sync, SyncPeer, Wakeup,
};
use coho_show::{Subject, compare};

/// How often each is tried.
const REPEATS: usize = 200;
/// Of 200 with a chance of 5 % each, 17 or more are seen less often than once in 50.
const MOST: usize = 17;

/// A machine on which everything takes as long.
struct Machine {
    random: fastrand::Rng,
    /// How fast the machine is at the moment, which its clock, caches and neighbours change; a logarithm.
    level: f64,
}

impl Machine {
    fn new(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), level: 0.0 }
    }

    /// Between −1 and 1.
    fn about(&mut self) -> f64 {
        2.0 * self.random.f64() - 1.0
    }

    fn sample(&mut self, pass: f64) -> f64 {
        self.level = 0.999 * self.level + 0.0005 * self.about();
        let tail = 0.02 * ((1.0 - self.random.f64()).powf(-1.0 / 1.5) - 1.0);
        (self.level + pass).exp() * (1.0 + tail)
    }

    /// A figure of so many passes.
    fn figure(&mut self, value: f64, passes: usize) -> Estimate {
        let pass = |_| {
            let pass = 0.01 * self.about();
            (0..15).map(|_| value * self.sample(pass)).collect()
        };
        let passes: Vec<Vec<f64>> = (0..passes).map(pass).collect();
        statistics::estimate(&passes).unwrap()
    }

    /// The ratios of two figures that are the same, round by round.
    fn ratio(&mut self, passes: usize) -> Estimate {
        let pass = |_| {
            let pass = 0.01 * self.about();
            (0..15).map(|_| self.sample(pass) / self.sample(pass)).collect()
        };
        let passes: Vec<Vec<f64>> = (0..passes).map(pass).collect();
        statistics::estimate(&passes).unwrap()
    }

    /// A survey's sections in which several equal things stand side by side.
    fn profile(&mut self) -> Profile {
        // Another run finds other lines and another clock.
        self.level += 0.02 * self.about();
        let pairs: Vec<(u32, u32)> = (0..4).flat_map(|a| (a + 1..4).map(move |b| (a, b))).collect();
        let pair = |(a, b)| Pair {
            claimed: Some("L3".into()),
            ..Pair::new(a, b, PairMethod::Turn, Home::A, self.figure(26.0, 5))
        };
        let pairs = pairs.into_iter().map(pair).collect();
        let coherence = Coherence { cpus: vec![0, 1, 2, 3], pairs, ..Coherence::default() };
        let barrier = |algorithm: &str| BarrierTime {
            algorithm: algorithm.into(),
            threads: 4,
            ns: Some(self.figure(90.0, 4)),
            ..BarrierTime::default()
        };
        let barriers = ["central", "fbs", "dissemination", "tournament", "mcs", "lock"].map(barrier).to_vec();
        let peer = |operation: &str| SyncPeer {
            name: "libgomp".into(),
            operation: operation.into(),
            threads: 4,
            ns: Some(self.figure(90.0, 4)),
            ratio: Some(self.ratio(4)),
            ..SyncPeer::default()
        };
        let peers = ["barrier", "fork-join"].map(peer).to_vec();
        let stores = ["plain-8", "sse2", "avx2", "sse2-nt", "avx2-nt", "movnti-8"];
        let rate = |(instruction, bytes): (&str, u64)| MemoryRate {
            op: Operation::Write,
            instruction: instruction.into(),
            cache_type: CacheType::WriteBack,
            state: Some(BlockState::Warm),
            threads: 1,
            bytes,
            bytes_per_s: Some(self.figure(1e10, 6)),
            ..MemoryRate::default()
        };
        let sizes = [1 << 12, 1 << 20, 1 << 26];
        let rates =
            sizes.into_iter().flat_map(|bytes| stores.map(|store| (store, bytes))).map(rate).collect();
        let woken = |(cpu, slept_us)| Wakeup {
            cpu,
            by: "timer".into(),
            slept_us,
            ns: Some(self.figure(50_000.0, 4)),
            ..Wakeup::default()
        };
        let wakeups = (0..4).flat_map(|cpu| [(cpu, 100), (cpu, 10_000)]).map(woken).collect();
        Profile {
            coherence: Some(coherence),
            sync: Some(Sync { barriers, peers, ..Sync::default() }),
            memory: Some(Memory { rates, ..Memory::default() }),
            idle: Some(Idle { wakeups, ..Idle::default() }),
            ..Profile::default()
        }
    }
}

#[test]
fn no_finding_prefers_one_of_equals() {
    // What a finding says of equals only by mistake, by its beginning or a part of it.
    const WORDS: [&str; 8] = [
        "The quickest barrier",
        "times as much between the farthest",
        "gains that each time",
        "loses that each time",
        "stores pay from",
        "stores are quicker",
        "stores pay at none",
        "us of sleep",
    ];
    let mut machine = Machine::new(7);
    let mut wrong = [0; WORDS.len()];
    for _ in 0..REPEATS {
        let found = coho_model::findings(&machine.profile());
        for (words, wrong) in WORDS.iter().zip(&mut wrong) {
            *wrong += usize::from(found.iter().any(|finding| finding.text.contains(words)));
        }
    }
    assert!(wrong.iter().all(|&times| times < MOST), "{wrong:?} of {REPEATS}: {WORDS:?}");
}

#[test]
fn two_profiles_of_one_machine_seldom_differ() {
    let mut machine = Machine::new(8);
    let [mut figures, mut distances, mut surveys] = [0; 3];
    for _ in 0..REPEATS {
        let profiles = [machine.profile(), machine.profile()];
        let [one, other] = profiles.each_ref().map(|profile| profile.coherence.as_ref().unwrap());
        distances += usize::from(history::apart(one, other).is_some());
        let [one, other] =
            [(one, 0), (other, 60)].map(|(one, at_s)| Survey::of(one, Host::default(), at_s).unwrap());
        surveys += usize::from(history::recall(&other, &[one], true).history.disagree > 0);
        let compared = compare(&profiles.map(|profile| Subject::new("one", profile)));
        let cells = || compared.figures.iter().flat_map(|row| row.values.iter().skip(1).flatten());
        assert!(cells().filter(|cell| cell.beyond_noise.is_some()).count() > 20, "these can be told apart");
        figures += usize::from(cells().any(|cell| cell.beyond_noise == Some(true)));
    }
    assert!(
        [figures, distances, surveys].iter().all(|&wrong| wrong < MOST),
        "{figures}, {distances}, {surveys}"
    );
}

/// The same machine, on which one figure has really changed.
#[test]
fn what_is_different_is_found() {
    let mut machine = Machine::new(9);
    for _ in 0..20 {
        let (first, mut second) = (machine.profile(), machine.profile());
        second.sync.as_mut().unwrap().barriers[0].ns = Some(machine.figure(150.0, 4));
        let found = coho_model::findings(&second);
        assert!(found.iter().all(|finding| !finding.text.contains("central")), "{found:?}");
        second.sync.as_mut().unwrap().barriers[1].ns = Some(machine.figure(50.0, 4));
        let found = coho_model::findings(&second);
        assert!(
            found.iter().any(|finding| finding.text.starts_with("The quickest barrier of 4 threads is fbs"))
        );
        let compared = compare(&[first, second].map(|profile| Subject::new("one", profile)));
        let differs = |word: &str| {
            let row =
                compared.figures.iter().find(|row| row.id.starts_with("sync.") && row.id.contains(word));
            row.unwrap().values[1].as_ref().unwrap().beyond_noise
        };
        assert_eq!(
            (differs("central"), differs("fbs"), differs("mcs")),
            (Some(true), Some(true), Some(false))
        );
    }
}
