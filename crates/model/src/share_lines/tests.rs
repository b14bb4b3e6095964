//! Recordings of programs that were never run: who touches what, when.

use coho_profile::{Estimate, ShareKind, ShareTotal};
use coho_recording::{Access, Item, Record};

use super::*;

const TICK: u64 = 2_000_000;
const BASE: u64 = 0x5000_0000;

/// A recording in the making: one process, with a program of one file.
struct Made {
    items: Vec<Item>,
}

impl Made {
    fn new(threads: u32) -> Self {
        let mut made = Self { items: Vec::new() };
        made.push(1, Record::Module { base: BASE, start: BASE, end: BASE + 0x10_0000 });
        let mut bytes = [0; 24];
        bytes[..6].copy_from_slice(b"/bin/a");
        made.push(1, Record::Text { length: 6, bytes });
        for thread in 1..=threads {
            made.push(thread, Record::Timer { every_ns: 1_000_000, begun: 0 });
            let start = 0x7000_0000 + u64::from(thread) * 0x10_0000;
            made.push(thread, Record::Stack { start, end: start + 0x10_0000 });
        }
        made
    }

    fn push(&mut self, thread: u32, record: Record) {
        self.items.push(Item { process: 9, thread, record });
    }

    fn allocate(&mut self, time: u64, thread: u32, address: u64, bytes: u64) {
        self.push(thread, Record::Allocated { time, address, bytes, site: 77 });
        self.push(thread, Record::Frame { site: 77, depth: 0, pc: BASE + 0x999 });
    }

    fn touch(&mut self, time: u64, thread: u32, code: u64, address: u64, access: Access) {
        let pc = BASE + code;
        self.push(thread, Record::Tick { time, pc });
        self.push(
            thread,
            Record::Operand { time, pc, address, bytes: 8, access, length: 4, ahead: 0, is_certain: true },
        );
    }

    fn run(&self) -> Run {
        let mut files = Files::default();
        let mut reader = Reader::new(&mut files);
        self.items.iter().for_each(|item| reader.add(*item));
        let run = reader.done(true);
        assert_eq!(files.path(0).unwrap().to_str(), Some("/bin/a"));
        run
    }
}

#[test]
fn counts_say_how_often_each_thread_accesses_what_and_decide_what_is_shared() {
    // As often at the same word as each at its own, by what was seen.
    let mut made = Made::new(2);
    for step in 0..80 {
        let thread = step % 2;
        let address = if step / 2 % 2 == 0 { 0x1000 } else { 0x1008 + 8 * thread };
        made.touch(10 + step * TICK / 2, thread as u32 + 1, 0x100, address, Access::Both);
    }
    assert_eq!(kinds(&made), [ShareKind::Mixed]);
    let counted =
        |address, access, times| Record::Counted { pc: BASE + 0x100, address, bytes: 8, access, times };
    for thread in [1, 2] {
        made.push(thread, counted(0x1000, Access::Both, 10));
        made.push(thread, counted(0x1000 + 8 * u64::from(thread), Access::Read, 1000));
        made.push(thread, counted(0x1000 + 8 * u64::from(thread), Access::Write, 900));
    }
    made.push(1, counted(0x2000, Access::Write, 5));
    assert_eq!(kinds(&made), [ShareKind::False]);
    let line = &made.run().lines[0];
    let counts = |at: usize| line.evidence.parts[at].counts.clone();
    let [both, own] = [Count { reads: 10, writes: 10 }, Count { reads: 1000, writes: 900 }];
    assert_eq!(counts(0), [(1, both), (2, both)].into());
    assert_eq!([counts(1), counts(2)], [[(1, own)].into(), [(2, own)].into()]);
    assert_eq!(line.code.values().map(|touched| touched.times).collect::<Vec<_>>(), [3820]);
}

/// Two threads that each touch what `place` says, in turn from tick to tick.
fn in_turns(times: u64, place: impl Fn(u64) -> (u64, Access)) -> Made {
    let mut made = Made::new(2);
    made.allocate(1, 1, 0x1000, 4096);
    for step in 0..times {
        let thread = step % 2;
        let (address, access) = place(thread);
        made.touch(10 + step * TICK / 2, thread as u32 + 1, 0x100, address, access);
    }
    made
}

fn kinds(made: &Made) -> Vec<ShareKind> {
    made.run().lines.iter().map(|line| line.evidence.kind()).collect()
}

#[test]
fn counters_in_one_line_are_shared_falsely_and_padded_ones_not_at_all() {
    let falsely = in_turns(40, |thread| (0x1000 + thread * 8, Access::Both));
    assert_eq!(kinds(&falsely), [ShareKind::False]);
    let line = &falsely.run().lines[0];
    assert_eq!((line.allocations, line.evidence.threads.len()), (1, 2));
    let parts: Vec<_> = line.evidence.parts.iter().map(|part| (part.offset, part.written_by.len())).collect();
    assert_eq!(parts, [(0, 1), (8, 1)]);
    let frames = vec![InFile { file: 0, address: 0x999 }];
    assert_eq!(line.objects, [Object::Allocated { frames, bytes: 4096, offset: 0 }]);
    assert_eq!(kinds(&in_turns(40, |thread| (0x1000 + thread * 64, Access::Both))), []);
    assert_eq!(kinds(&in_turns(40, |thread| (0x1000 + thread * 8, Access::Read))), []);
}

#[test]
fn a_counter_of_all_is_shared_truly_and_a_flag_beside_a_counter_falsely() {
    assert_eq!(kinds(&in_turns(40, |_| (0x1000, Access::Both))), [ShareKind::True]);
    let flag = |thread| if thread == 0 { (0x1000, Access::Write) } else { (0x1008, Access::Read) };
    assert_eq!(kinds(&in_turns(40, flag)), [ShareKind::False]);
}

#[test]
fn the_head_of_a_queue_beside_the_flag_of_both_is_mixed() {
    let mut made = Made::new(2);
    for step in 0..80 {
        let thread = step % 2;
        let (address, code) = match (step / 2 % 2, thread) {
            (0, _) => (BASE + 0x8000, 0x100),
            (_, thread) => (BASE + 0x8008 + thread * 8, 0x200),
        };
        made.touch(10 + step * TICK / 2, thread as u32 + 1, code, address, Access::Both);
    }
    let run = made.run();
    assert_eq!(kinds(&made), [ShareKind::Mixed]);
    assert!(run.lines[0].objects.contains(&Object::Global(InFile { file: 0, address: 0x8000 })), "{run:?}");
    assert_eq!(run.lines[0].code.len(), 2);
}

#[test]
fn a_lock_of_several_words_is_shared_truly_though_some_are_only_read() {
    let mut made = Made::new(2);
    for step in 0..120 {
        let access = if step / 2 % 3 == 2 { Access::Read } else { Access::Both };
        made.touch(
            10 + step * TICK / 2,
            step as u32 % 2 + 1,
            0x100,
            BASE + 0x8000 + step / 2 % 3 * 8,
            access,
        );
    }
    assert_eq!(kinds(&made), [ShareKind::True]);
}

#[test]
fn what_no_thread_is_known_to_come_to_is_not_touched() {
    let with = |certain: u64| {
        let mut made = Made::new(2);
        for step in 0..40 {
            let (thread, time, pc) = (step as u32 % 2 + 1, 10 + step * TICK / 2, BASE + 0x100);
            made.push(thread, Record::Tick { time, pc });
            let (address, is_certain) = (BASE + 0x8000, step < certain);
            made.push(
                thread,
                Record::Operand {
                    time,
                    pc: pc + 64,
                    address,
                    bytes: 8,
                    access: Access::Both,
                    length: 4,
                    ahead: 9,
                    is_certain,
                },
            );
        }
        made.run().lines
    };
    assert_eq!(with(2), []);
    let lines = with(3);
    assert_eq!(lines.len(), 1);
    // All of the time is on the way to it.
    let near: Vec<_> = lines[0].near.iter().map(|(place, seconds)| (place.address, *seconds)).collect();
    assert!(matches!(near[..], [(0x100, seconds)] if (seconds - 0.04).abs() < 1e-9), "{near:?}");
}

/// Pairs of threads, one after another, each of which is seen once; `place` says what the first or second of a pair touches.
fn brief(place: impl Fn(u64, u64) -> u64) -> Made {
    let mut made = Made::new(0);
    for pair in 0..100 {
        for second in 0..2 {
            let (thread, begun) = (2 * pair + second + 2, (1 + pair) * TICK);
            made.push(thread as u32, Record::Timer { every_ns: 1_000_000, begun });
            made.touch(begun + 10 + second, thread as u32, 0x100, place(pair, second), Access::Both);
            made.push(thread as u32, Record::End { time: begun + TICK / 2 });
        }
    }
    made
}

#[test]
fn threads_that_end_soon_share_what_they_touch_at_the_same_time() {
    assert_eq!(kinds(&brief(|_, second| BASE + 0x8000 + 8 * second)), [ShareKind::False]);
    assert_eq!(kinds(&brief(|_, _| BASE + 0x8000)), [ShareKind::True]);
    // A line each, which another pair has the other way round: nobody touches another's while that one lives.
    assert_eq!(kinds(&brief(|pair, second| BASE + 0x8000 + 64 * ((pair + second) % 2))), []);
    assert_eq!(kinds(&brief(|pair, second| BASE + 0x8000 + 64 * (second + 2 * (pair % 2)))), []);
}

#[test]
fn what_lies_before_a_place_that_two_branches_lead_to_is_not_touched_by_both() {
    let with = |known: bool| {
        let mut made = Made::new(2);
        for step in 0..80 {
            let (thread, time) = (step as u32 % 2 + 1, 10 + step * TICK / 2);
            // One comes by the instruction, and so may be the other.
            made.touch(time, 1 + u32::from(known && thread == 2), 0x100, BASE + 0x8000, Access::Both);
            let (pc, address) = (BASE + 0x100, BASE + 0x8000);
            made.push(thread, Record::Tick { time: time + 1, pc: pc + 4 });
            let (bytes, length, access) = (8, 4, Access::Both);
            made.push(
                thread,
                Record::Operand {
                    time: time + 1,
                    pc,
                    address,
                    bytes,
                    access,
                    length,
                    ahead: 0,
                    is_certain: false,
                },
            );
        }
        kinds(&made)
    };
    assert_eq!(with(true), [ShareKind::True]);
    assert_eq!(with(false), []);
}

#[test]
fn what_is_handed_over_once_does_not_go_back_and_forth() {
    let mut made = Made::new(2);
    made.allocate(1, 1, 0x1000, 64);
    for step in 0..60 {
        let thread = if step < 30 { 1 } else { 2 };
        made.touch(10 + step * TICK, thread, 0x100, 0x1000, Access::Both);
    }
    made.touch(10 + 60 * TICK, 1, 0x100, 0x1000, Access::Read);
    assert_eq!(kinds(&made), []);
}

#[test]
fn turns_that_each_last_long_are_no_sharing() {
    let mut made = Made::new(2);
    for step in 0..600 {
        made.touch(10 + step * TICK, step as u32 / 60 % 2 + 1, 0x100, BASE + 0x8000, Access::Both);
    }
    assert_eq!(kinds(&made), []);
}

#[test]
fn memory_that_is_freed_and_that_another_thread_gets_is_not_shared() {
    let reused = |frees: bool| {
        let mut made = Made::new(2);
        for step in 0..60 {
            let (thread, time) = (step as u32 % 2 + 1, 10 + step * TICK);
            if frees || step == 0 {
                made.allocate(time, thread, 0x1000, 64);
            }
            made.touch(time + 1, thread, 0x100, 0x1000, Access::Both);
            if frees {
                made.push(thread, Record::Freed { time: time + 2, address: 0x1000 });
            }
        }
        kinds(&made)
    };
    assert_eq!((reused(true), reused(false)), (vec![], vec![ShareKind::True]));
}

#[test]
fn what_sets_up_and_collects_takes_no_part() {
    let mut made = Made::new(3);
    let all = |made: &mut Made, time: u64| {
        for word in 0..2 {
            made.touch(time + word, 1, 0x300, BASE + 0x8000 + 8 * word, Access::Both);
        }
    };
    all(&mut made, 10);
    for step in 0..40 {
        let word = step % 2;
        made.touch(100 + step * TICK / 2, word as u32 + 2, 0x100, BASE + 0x8000 + 8 * word, Access::Both);
    }
    all(&mut made, 100 * TICK);
    let run = made.run();
    let line = &run.lines[0];
    assert_eq!((line.evidence.kind(), line.evidence.threads.len()), (ShareKind::False, 2));
    assert!(line.code.keys().all(|code| code.address == 0x100), "{line:?}");
}

#[test]
fn two_allocations_in_one_line_can_be_separated_and_a_stack_is_known() {
    let mut made = Made::new(2);
    made.allocate(1, 1, 0x1000, 16);
    made.allocate(1, 2, 0x1010, 16);
    let stack = 0x7010_0000;
    for step in 0..80 {
        let thread = step % 2;
        let address = if step / 2 % 2 == 0 { 0x1000 + 16 * thread } else { stack + 8 * thread };
        made.touch(10 + step * TICK / 2, thread as u32 + 1, 0x100 + step / 2 % 2, address, Access::Both);
    }
    let lines = made.run().lines;
    assert_eq!(lines.iter().map(|line| line.allocations).collect::<Vec<_>>(), [2, 0]);
    assert_eq!(lines[1].objects, [Object::Stack(1)]);
}

#[test]
fn lines_alike_are_told_once_and_those_of_a_few_runs_not() {
    let line = |code: u64| {
        let made = in_turns(40, |thread| (0x1000 + thread * 8, Access::Both));
        let mut line = made.run().lines.remove(0);
        let touched = line.code.values().next().copied().unwrap();
        line.code = [(InFile { file: 0, address: code }, touched)].into();
        line
    };
    let usual = vec![("a", line(1)), ("a", line(1)), ("a", line(2)), ("b", line(1))];
    let once = [&usual[..], &[("c", line(9))]].concat();
    let merged = merged(&[usual.clone(), once, usual]);
    let told: Vec<_> = merged.iter().map(|one| (one.label, one.lines, one.code.len())).collect();
    assert_eq!(told, [("a", 2, 1), ("a", 1, 1), ("b", 1, 1)]);
    assert_eq!(merged[0].evidence.apart, 6 * line(1).evidence.apart);
}

/// How often each instruction was seen to touch a line, and the CPU time at the places near.
type Seen<'a> = (&'a [(u64, u64)], &'a [(u64, f64)]);

/// What lines cost in each round, by their instructions and the places near.
fn costs_of<const LINES: usize>(several: &[Run], one: &[Run], lines: [Seen<'_>; LINES]) -> [Vec<f64>; LINES] {
    let place = |address| InFile { file: 0, address };
    let lines = lines.map(|(touched, near)| {
        let touched: BTreeMap<_, _> =
            touched.iter().map(|(at, times)| (place(*at), Touched { times: *times, length: 4 })).collect();
        (touched, near.iter().map(|(at, seconds)| (place(*at), *seconds)).collect::<BTreeMap<_, _>>())
    });
    let code = lines.each_ref().map(|(touched, near)| Code { touched, near });
    costs(several, one, &code).try_into().unwrap()
}

fn run_with(at: &[(u64, f64)], seconds: f64) -> Run {
    let at = at.iter().map(|(address, seconds)| (InFile { file: 0, address: *address }, *seconds)).collect();
    Run { at, seconds, ..Run::default() }
}

#[track_caller]
fn near(found: &[f64], wanted: &[f64]) {
    let is_near = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(is_near && found.len() == wanted.len(), "{found:?} {wanted:?}");
}

#[test]
fn a_cost_is_what_instructions_take_more_and_is_split_by_touches() {
    let several = [run_with(&[(0x10, 2.0), (0x24, 1.0), (0x60, 5.0)], 10.0), run_with(&[(0x14, 4.0)], 10.0)];
    let one = [run_with(&[(0x24, 0.5), (0x60, 5.0)], 5.5), run_with(&[], 6.0)];
    // The last instruction is seen too seldom to be what costs time.
    let lines = [(&[(0x10, 30), (0x20, 100)][..], &[][..]), (&[(0x10, 10), (0x80, 0)], &[])];
    let [first, second] = costs_of(&several, &one, lines);
    near(&first, &[0.2, 0.3]);
    near(&second, &[0.05, 0.1]);
}

#[test]
fn time_on_the_way_to_a_line_is_due_to_it_and_to_several_by_what_they_take_at_their_own() {
    let several = [run_with(&[(0x10, 3.0), (0x100, 2.0), (0x200, 1.0), (0x30, 0.5)], 10.0)];
    let one = [run_with(&[(0x100, 1.0), (0x300, 4.0)], 5.0)];
    let on_the_way = [(0x100, 1.0), (0x200, 0.5)];
    // Of the third line, too little of the time at a place is on the way to it.
    let lines = [
        (&[(0x10, 30)][..], &on_the_way[..]),
        (&[(0x500, 30)], &on_the_way[..1]),
        (&[(0x600, 30)], &[(0x200, 0.001)]),
    ];
    let [first, second, third] = costs_of(&several, &one, lines);
    // At its own, on the way, and not far behind.
    near(&first, &[0.3 + 0.1 + 0.1 + 0.05]);
    near(&second, &[0.0]);
    near(&third, &[0.0]);
}

#[test]
fn anything_can_stand_in_a_recording() {
    let mut random = fastrand::Rng::with_seed(4);
    let mut files = Files::default();
    let mut reader = Reader::new(&mut files);
    let mut word = || if random.bool() { random.u64(..) } else { random.u64(..8) };
    for _ in 0..20_000 {
        let [time, pc, address, bytes] = [word(), word(), word(), word()];
        let small = bytes as u8;
        let record = match bytes % 8 {
            0 => Record::Tick { time, pc },
            1 => Record::Operand {
                time,
                pc,
                address,
                bytes: small,
                access: Access::Both,
                length: small,
                ahead: 0,
                is_certain: small.is_multiple_of(2),
            },
            2 => Record::Allocated { time, address, bytes, site: 1 },
            3 => Record::Freed { time, address },
            4 => Record::Frame { site: 1, depth: small, pc },
            5 => Record::Module { base: pc, start: address, end: bytes },
            6 => Record::Text { length: small % 25, bytes: [1; 24] },
            _ => Record::Stack { start: address, end: pc },
        };
        reader.add(Item { process: time as u32 % 3, thread: pc as u32 % 4, record });
    }
    reader.done(true);
}

#[test]
fn a_cost_is_withheld_with_a_reason() {
    let cost = |width: f64, n| Estimate { low: 0.2 - width, high: 0.2 + width, n, ..Estimate::exact(0.2) };
    let why = |cost: Option<Estimate>, total: &ShareTotal| why_no_cost(cost.as_ref(), total);
    let told = ShareTotal::default();
    assert_eq!(why(Some(cost(0.02, 6)), &told), None);
    assert!(why(None, &told).unwrap().contains("no round"));
    assert!(why(Some(cost(0.02, 5)), &told).unwrap().contains("5 recorded rounds are too few; 6"));
    assert!(why(Some(cost(0.2, 6)), &told).unwrap().contains("between 0 % and 40 %"));
    let spins = ShareTotal { why_not: Some("its threads spin".into()), ..told };
    assert_eq!(why(Some(cost(0.02, 6)), &spins).unwrap(), "its threads spin");
}
