//! Changed lines of a file as a unified diff.

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// A text and what becomes of some of its lines: their numbers from 0, and what stands in their place. As `patch -p0`
/// reads it.
pub(super) fn unified(name: &str, text: &str, changed: &[(usize, String)]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut diff = format!("--- {name}\n+++ {name}\n");
    let mut rest = changed;
    let mut grown = 0;
    while let [first, ..] = rest {
        // Changes whose contexts meet are one hunk.
        let meet = |two: &[(usize, String)]| two[1].0 <= two[0].0 + 2 * CONTEXT;
        let count = 1 + rest.windows(2).take_while(|two| meet(two)).count();
        let (hunk, after) = rest.split_at(count);
        rest = after;
        let start = first.0.saturating_sub(CONTEXT);
        let end = (hunk[count - 1].0 + CONTEXT + 1).min(lines.len());
        let more: usize = hunk.iter().map(|(_, new)| new.lines().count() - 1).sum();
        let (old, new) = (end - start, end - start + more);
        diff += &format!("@@ -{},{old} +{},{new} @@\n", start + 1, start + 1 + grown);
        grown += more;
        for (at, line) in lines.iter().enumerate().take(end).skip(start) {
            match hunk.iter().find(|(changed, _)| *changed == at) {
                Some((_, new)) => {
                    diff += &format!("-{line}\n");
                    new.lines().for_each(|line| diff += &format!("+{line}\n"));
                }
                None => diff += &format!(" {line}\n"),
            }
        }
    }
    diff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_changes_share_a_hunk_and_others_have_their_own() {
        let text: String = (1..=30).map(|line| format!("line {line}\n")).collect();
        let changed = [(1, "new\nnewer".into()), (6, "seven".into()), (24, "late".into())];
        let diff = unified("a.c", &text, &changed);
        assert!(
            diff.starts_with(
                "--- a.c\n+++ a.c\n@@ -1,10 +1,11 @@\n line 1\n-line 2\n+new\n+newer\n line 3\n"
            ),
            "{diff}"
        );
        assert!(diff.contains("@@ -22,7 +23,7 @@\n line 22\n"), "{diff}");
        assert!(diff.contains("-line 25\n+late\n"), "{diff}");
    }
}
