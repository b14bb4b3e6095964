//! What a program may do after which hosts would act for it with something else than it has, and what only seems so: the same
//! results under the library and without it. `docs/delegation.md` lists each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;

use coho_testing::{Capability, needs};

use crate::common::{self, PATIENT, all, texts};

/// After these the program makes its calls itself.
const ENDS: &str = "
    close_range_unshare close_range_unshare_by_number unshare_files unshare_files_by_number unshare_folders unshare_mounts
    unshare_user unshare_names set_namespace pivot
    set_user set_effective_user set_three_users set_two_users set_file_user set_file_user_by_number
    set_group set_effective_group set_three_groups set_two_groups set_file_group set_groups initialise_groups
    set_capabilities set_capabilities_by_number keep_capabilities drop_bounding set_secure_bits clear_ambient
    no_new_privileges flush_for_others set_filter set_filter_by_number restrict_by_landlock join_keyring add_key
    limit_time limit_time_by_number limit_threads time_profile time_process
    priority be_nice schedule schedule_thread disk_priority memory_policy set_personality be_traced protection_key ring
    unknown_call clone_memory_alone clone_nothing clone_by_number";

/// After these too, as the kernel says so when it is asked: they are not seen.
const UNSEEN: &str = "unshare_files_unseen unshare_folders_unseen set_file_user_unseen";

/// After these hosts go on: what they change is the process's, or the child's alone.
const STAYS: &str = "
    close_range_plain close_range_on_exec closefrom_all change_folder change_folder_by_descriptor change_root change_umask
    not_dumpable name_a_thread limit_descriptors limit_size time_alarm ask_personality vfork_and_close fork_one";

fn program() -> PathBuf {
    common::program("sharing", &[])
}

fn run(case: &str, calls: &str, patience: &str) -> Output {
    common::run(&program(), case, calls, patience)
}

fn same(case: &str, ends: bool) {
    let without = texts(&run(case, "", "")).0;
    assert!(without.contains("before.log: 0 of 100 writes failed: none; 1000 bytes, "), "{without}");
    for (calls, patience) in [(all(), "2000"), (format!("write:async,{}", all()), "")] {
        let (with, said) = texts(&run(case, &calls, patience));
        assert_eq!(with, without, "{case} {calls}: {said}");
        let ended = said.contains(": it makes its calls itself from now on");
        assert_eq!(ended, ends, "{case} {calls}: {said}");
    }
}

fn all_same(cases: &str, part: usize, ends: bool) {
    needs!(Capability::CCompiler);
    cases.split_whitespace().skip(part).step_by(4).for_each(|case| same(case, ends));
}

/// In parts, which tests can run beside each other.
macro_rules! parts {
    ($($name:ident: $part:literal)+) => { $(
        #[test]
        fn $name() {
            all_same(ENDS, $part, true);
        }
    )+ };
}

parts! {
    who_stops_sharing_makes_calls_itself_0: 0
    who_stops_sharing_makes_calls_itself_1: 1
    who_stops_sharing_makes_calls_itself_2: 2
    who_stops_sharing_makes_calls_itself_3: 3
}

#[test]
fn who_goes_on_sharing_goes_on_delegating() {
    (0..4).for_each(|part| all_same(STAYS, part, false));
}

#[test]
fn what_is_not_seen_is_noticed() {
    needs!(Capability::CCompiler, Capability::Kcmp, Capability::OtherUsers);
    for case in UNSEEN.split_whitespace() {
        let without = texts(&run(case, "", "")).0;
        for calls in ["write:async".to_owned(), all()] {
            let (with, said) = texts(&run(case, &calls, PATIENT));
            assert_eq!(with, without, "{case} {calls}: {said}");
            assert!(
                said.contains(" of its own, by a system call that was not seen: "),
                "{case} {calls}: {said}"
            );
        }
    }
}

#[test]
fn the_page_lists_each_case() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/delegation.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.matches(" | ").count() == 3);
    let named: BTreeSet<&str> = rows
        .filter_map(|row| row.rsplit(" | ").next())
        .flat_map(|tests| tests.split('`').skip(1).step_by(2))
        .collect();
    let cases: BTreeSet<&str> =
        [ENDS, UNSEEN, STAYS].iter().flat_map(|cases| cases.split_whitespace()).collect();
    assert_eq!(named, cases);
}
