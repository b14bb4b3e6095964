//! Changes of idle states and governors that are killed half-way. In a process of its own: a
//! copy of the tests' process would hold other tests' locks.

mod killed;

use coho_probe::idle::Root;
use coho_probe::idle::control::{Held, Plan, Wish, restore};
use coho_testing::{Capability, Tree, in_own_process, needs};
use killed::End;

/// Killed before each system call of setting and of putting back, `restore` mends it.
#[test]
fn killed_anywhere_it_is_put_back() {
    needs!(Capability::Tracing);
    in_own_process(killed_anywhere_it_is_put_back, || {
        let tree = Tree::default();
        let (before, root) = (tree.contents(), Root::at(tree.path("")));
        let wish = Wish {
            disable: vec!["C6".into()],
            governor: Some("performance".into()),
            cpus: Some("0,2".parse().unwrap()),
            ..Wish::default()
        };
        let plan = Plan::of(&root, &wish).unwrap();
        let (mut kills, mut changed) = (0, 0);
        // A call stops the copy when it begins and when it ends; the latter is as the next one's beginning.
        for n in (1..10_000).step_by(2) {
            let end = killed::at_system_call(n, || {
                Held::apply(&root, &plan).and_then(Held::restore).unwrap();
            });
            let end = end.expect("a traced process");
            let differs = tree.contents() != before;
            assert!(!differs || tree.journal().exists(), "changed and not written down, at {n}");
            changed += usize::from(differs);
            // Restoring, too, may be killed and begun again.
            killed::at_system_call(n / 3 + 1, || drop(restore(&root)));
            restore(&root).unwrap();
            assert_eq!(tree.contents(), before, "at {n}");
            assert!(!tree.journal().exists() && !tree.path("run/coho/idle.json.new").exists());
            if end == End::Finished {
                break;
            }
            kills += 1;
        }
        assert!(kills > 50 && changed > 20, "{kills} kills, {changed} of them with changes in force");
    });
}
