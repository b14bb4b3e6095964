//! docs/papers.md is what the lists of the papers' tables and figures say.

#[path = "../../examples/papers.rs"]
#[allow(dead_code, reason = "the example's `main`")]
mod written;

#[test]
fn the_page_of_the_papers_is_written_from_their_lists() {
    let known = include_str!("../../../../docs/papers.md");
    assert!(
        written::page() == known,
        "`cargo run -p coho-profile --example papers >docs/papers.md` writes it anew"
    );
}
