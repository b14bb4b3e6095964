//! Transfer paths in `coho report`: the ready ones with a machine's figures, and Hamada et al.'s figures.

mod support;

use coho_profile::{BlockState, Estimate, Fence, Memory, MemoryRate, Operation, Profile, Transfer};
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
    // No fresh copies for cxl, none of what another CPU has had for processes here.
    for reason in ["<strong>cxl</strong>, not available", "no parts of messages by shared-memory"] {
        assert!(page.contains(reason), "{reason}");
    }
}

#[test]
fn messages_between_processes_stand_beside_their_prediction() {
    let mut profile = support::measured();
    let transfer = |bytes, ns, part: f64| Transfer {
        path: "shared-memory".into(),
        from: 0,
        to: 1,
        bytes,
        ns: Some(Estimate::exact(ns)),
        send_ns: Some(Estimate::exact(part)),
        receive_ns: Some(Estimate::exact(part)),
        ..Transfer::default()
    };
    let memory = profile.memory.as_mut().unwrap();
    memory.transfers = vec![transfer(0, 100.0, 0.0), transfer(64, 58.0, 8.0), transfer(4096, 1024.0, 205.0)];
    let page = page(&profile);
    // 100 ns for the flag, with which the line of the first comes along, and what the ends take.
    for cell in [">108<", ">+86 %<", ">510<", ">-50 %<", "median error 50 %"] {
        assert!(page.contains(cell), "{cell}");
    }
}

#[test]
fn messages_that_cannot_be_predicted_are_shown_with_the_reason() {
    let mut profile = measured();
    let ns = Some(Estimate::exact(12345.0));
    let transfer = Transfer { path: "shared-memory".into(), to: 1, bytes: 4096, ns, ..Transfer::default() };
    profile.memory.as_mut().unwrap().transfers = vec![transfer];
    let page = page(&profile);
    assert!(page.contains(">12345<"), "the measured column stands alone");
    assert!(
        page.contains("cannot be predicted: the profile has no parts of messages by shared-memory"),
        "and says why"
    );
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
