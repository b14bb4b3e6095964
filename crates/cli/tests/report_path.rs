//! Transfer paths in `coho report`: the ready ones with a machine's figures, and paper 4's figures.

mod support;

use coho_profile::{BlockState, Estimate, Fence, Memory, MemoryRate, Operation, Profile};
use support::page;

fn measured() -> Profile {
    let rate = |op, instruction: &str, state, fence, bytes, rate| MemoryRate {
        op,
        instruction: instruction.into(),
        bytes,
        threads: 1,
        state: Some(state),
        fence,
        bytes_per_s: Some(Estimate::exact(rate)),
        ..MemoryRate::default()
    };
    let sizes = [(64, 8e9), (4096, 2e10), (1 << 20, 1e10)];
    let mut rates = Vec::new();
    for (bytes, value) in sizes {
        rates.push(rate(Operation::Copy, "avx2", BlockState::Warm, Some(Fence::None), bytes, value));
        rates.push(rate(
            Operation::Write,
            "avx2-nt",
            BlockState::Warm,
            Some(Fence::Call),
            bytes,
            value / 2.0,
        ));
    }
    Profile { memory: Some(Memory { rates, ..Memory::default() }), ..Profile::default() }
}

#[test]
fn ready_paths_take_the_machines_figures_or_say_what_is_missing() {
    let page = page(&measured());
    for name in ["post", "copy"] {
        assert!(page.contains(&format!("id=\"s0-path-chart-{name}\"")), "{name}");
    }
    assert!(page.contains("eager, rendezvous</td>"), "crossovers are told");
    // No fresh copies for cxl, no flags for processes here.
    for reason in ["<strong>cxl</strong>, not available", "coho coherence -o profile.json"] {
        assert!(page.contains(reason), "{reason}");
    }
}

#[test]
fn the_papers_figures_and_statements_stand_in_every_report() {
    let page = page(&Profile::default());
    for figure in ["4", "5", "6", "8", "9", "10", "11"] {
        assert!(page.contains(&format!("id=\"dimmnet-{figure}\"")), "{figure}");
    }
    assert_eq!(page.matches("<strong>missed</strong>").count(), 2);
    assert!(page.contains("<strong>post</strong>, not available"));
}
