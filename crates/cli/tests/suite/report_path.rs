//! Messages between processes in `coho report`: as predicted from their parts and as measured.

use coho_profile::{Estimate, Profile, Transfer};

use crate::support::{self, page};

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
    for cell in [">0.11<", ">+86 %<", ">0.51<", ">−50 %<", "shared-memory: median error 50 %, largest 86 %"]
    {
        assert!(page.contains(cell), "{cell}");
    }
    assert!(page.contains("id=\"s0-paths-chart-paths\""), "lines and points by size");
}

#[test]
fn messages_that_cannot_be_predicted_are_shown_with_the_reason() {
    let mut profile = support::measured();
    let ns = Some(Estimate::exact(12345.0));
    let transfer = Transfer { path: "shared-memory".into(), to: 1, bytes: 4096, ns, ..Transfer::default() };
    profile.memory.as_mut().unwrap().transfers = vec![transfer];
    let page = page(&profile);
    assert!(page.contains(">12345<"), "the measured column stands alone");
    assert!(page.contains("the profile has no parts of messages by shared-memory"), "and says why");
    assert!(!page.contains("id=\"s0-paths-chart-paths\"") && !page.contains("median error"));
}

#[test]
fn a_profile_without_messages_does_not_speak_of_them() {
    for profile in [support::measured(), Profile::default()] {
        let page = page(&profile);
        assert!(!page.contains("id=\"s0-paths\"") && !page.contains("Hamada et al.</b>"), "{page}");
    }
}
