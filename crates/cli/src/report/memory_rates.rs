//! Rates of memory beyond those of one thread's payload: by number of threads, and with the traffic that stores cause.

use coho_profile::{Estimate, Memory, MemoryRate};
use maud::{Markup, html};

use super::text;

/// Rows and columns of one table, at most: a profile may bring any number.
const MOST: usize = 200;
const MOST_COLUMNS: usize = 16;

/// A row: what it is, the mapping of its threads, and its rate by number of threads.
type Row<'a> = (String, &'a str, Vec<Option<&'a MemoryRate>>);

/// What two rates share that differ in the number of threads alone.
fn same(a: &MemoryRate, b: &MemoryRate) -> bool {
    let of = |rate: &MemoryRate| {
        (rate.op, rate.cache_type, rate.destination_type, rate.bytes, rate.state, rate.fence)
    };
    of(a) == of(b) && a.instruction == b.instruction
}

/// Rates of several threads beside those of one, all threads together.
pub fn by_threads(memory: &Memory) -> Markup {
    let mut counts: Vec<u32> =
        memory.rates.iter().map(|rate| rate.threads).filter(|threads| *threads > 0).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.truncate(MOST_COLUMNS);
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut firsts: Vec<&MemoryRate> = Vec::new();
    let mut more = 0;
    for rate in memory.rates.iter().filter(|rate| rate.threads > 1) {
        let Ok(column) = counts.binary_search(&rate.threads) else { continue };
        let known = firsts.iter().position(|first| same(first, rate) && first.mapping == rate.mapping);
        let at = match known {
            Some(at) => at,
            None if rows.len() >= MOST => {
                more += 1;
                continue;
            }
            None => {
                let alone = memory.rates.iter().find(|one| one.threads == 1 && same(one, rate));
                let of = |threads: &u32| alone.filter(|_| *threads == 1);
                rows.push((name(rate), &rate.mapping, counts.iter().map(of).collect()));
                firsts.push(rate);
                rows.len() - 1
            }
        };
        rows[at].2[column] = Some(rate);
    }
    html! { @if !rows.is_empty() {
        h4 { "Rates by number of threads" }
        p { "GB/s of all threads together, each with blocks of its own; the mapping says which CPUs they take." }
        div.scroll { table.figures.events {
            thead { tr {
                th scope="col" { "Operation, block" } th scope="col" { "Mapping" }
                @for threads in &counts { th.number scope="col" { (text::count(*threads as usize, "thread")) } }
            } }
            tbody { @for (name, mapping, rates) in &rows { tr {
                th scope="row" { (name) } td { (text::short(mapping, 40)) }
                @for rate in rates { td.number { (gigabytes(rate.and_then(|rate| rate.bytes_per_s.as_ref()))) } }
            } } }
        } }
        @if more > 0 { p.note { "And " (more) " more rates, in the profile." } }
    } }
}

/// The largest block's rates beside what they move over the bus.
pub fn traffic(memory: &Memory) -> Markup {
    let told = largest_with_traffic(memory);
    html! { @if let Some(first) = told.first() {
        h4 { "Payload and traffic: blocks of " (text::bytes(first.bytes)) }
        p { "Traffic has the lines that stores read first and write back later (write-allocate), and a copied byte twice." }
        div.scroll { table.figures.events {
            thead { tr {
                th scope="col" { "Operation" } th.number scope="col" { "Threads" }
                th.number scope="col" { "Payload, GB/s (95 %)" } th.number scope="col" { "Traffic, GB/s" }
            } }
            tbody { @for rate in told.iter().take(MOST) { tr {
                th scope="row" { (name(rate)) } td.number { (rate.threads) }
                td.number { (gigabytes(rate.bytes_per_s.as_ref())) }
                td.number { (rate.traffic_bytes_per_s.map_or_else(|| "–".to_owned(), |rate| text::number(rate / 1e9))) }
            } } }
        } }
        @if told.len() > MOST { p.note { "And " (told.len() - MOST) " more, in the profile." } }
    } }
}

/// Rates of the largest block of which the traffic is known.
pub fn largest_with_traffic(memory: &Memory) -> Vec<&MemoryRate> {
    let told = || memory.rates.iter().filter(|rate| rate.traffic_bytes_per_s.is_some());
    let largest = told().map(|rate| rate.bytes).max();
    told().filter(|rate| Some(rate.bytes) == largest).collect()
}

fn name(rate: &MemoryRate) -> String {
    let to = rate.destination_type.map_or_else(String::new, |to| format!(" to {to}"));
    let mut words = vec![
        format!("{} {}, {}{to}", rate.op, text::short(&rate.instruction, 40), rate.cache_type),
        text::bytes(rate.bytes),
    ];
    words.extend(rate.state.map(|state| state.to_string()));
    words.extend(rate.fence.map(|fence| format!("fence {fence}")));
    words.join(", ")
}

fn gigabytes(rate: Option<&Estimate>) -> String {
    rate.map_or_else(|| "–".to_owned(), |rate| text::scaled(rate, 1e-9))
}

#[cfg(test)]
mod tests {
    use coho_profile::{BlockState, Operation};

    use super::*;

    fn rate(threads: u32, mapping: &str, bytes: u64, gb: f64) -> MemoryRate {
        MemoryRate {
            op: Operation::Copy,
            instruction: "avx2".into(),
            bytes,
            threads,
            mapping: mapping.into(),
            state: Some(BlockState::Fresh),
            bytes_per_s: Some(Estimate::exact(gb * 1e9)),
            traffic_bytes_per_s: Some(3.0 * gb * 1e9),
            ..MemoryRate::default()
        }
    }

    #[test]
    fn several_threads_stand_beside_one() {
        let rates = vec![
            rate(1, "", 4096, 11.0),
            rate(2, "sequential", 4096, 22.0),
            rate(4, "sequential", 4096, 44.0),
            rate(2, "binary-tree", 4096, 33.0),
        ];
        let page = by_threads(&Memory { rates, ..Memory::default() }).into_string();
        assert_eq!(page.matches("copy avx2, WB, 4 KiB, fresh").count(), 2, "{page}");
        assert_eq!(page.matches(">11.0<").count(), 2, "one thread is one thread: {page}");
        for cell in [">22.0<", ">33.0<", ">44.0<", "4 threads", "binary-tree"] {
            assert!(page.contains(cell), "{cell}: {page}");
        }
        let alone = Memory { rates: vec![rate(1, "", 4096, 11.0)], ..Memory::default() };
        assert_eq!(by_threads(&alone).into_string(), "");
    }

    #[test]
    fn traffic_stands_beside_the_payload_of_the_largest_block() {
        let rates =
            vec![rate(1, "", 4096, 11.0), rate(1, "", 1 << 20, 7.0), rate(2, "sequential", 1 << 20, 8.0)];
        let page = traffic(&Memory { rates, ..Memory::default() }).into_string();
        for cell in ["blocks of 1 MiB", ">7.00<", ">21.0<", ">24.0<"] {
            assert!(page.contains(cell), "{cell}: {page}");
        }
        assert!(!page.contains(">11.0<") && traffic(&Memory::default()).into_string().is_empty());
    }
}
