//! What a reader sees of a page before unfolding anything.

/// Words and charts outside of folded parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shown {
    /// Words, separated by white space.
    pub words: usize,
    /// Charts, maps and drawings.
    pub charts: usize,
}

impl Shown {
    /// Counts in our own markup, where every tag is closed and `<` stands for nothing but a tag.
    pub fn of(markup: &str) -> Self {
        let (before, tags) = markup.split_once('<').unwrap_or((markup, ""));
        let mut shown = Self { words: before.split_whitespace().count(), charts: 0 };
        // For each open element `details`: whether it is folded, and whether we are in its summary.
        let mut details: Vec<(bool, bool)> = Vec::new();
        let mut in_title = false;
        for (tag, text) in tags.split('<').filter_map(|piece| piece.split_once('>')) {
            let name = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap_or("");
            match (name, tag.starts_with('/')) {
                ("details", false) => details.push((!tag.contains(" open"), false)),
                ("details", true) => drop(details.pop()),
                ("summary", closes) => details.last_mut().into_iter().for_each(|last| last.1 = !closes),
                ("title", closes) => in_title = !closes,
                _ => {}
            }
            if !in_title && details.iter().all(|(folded, in_summary)| !folded || *in_summary) {
                shown.words += text.split_whitespace().count();
                shown.charts += usize::from(name == "svg" && !tag.starts_with('/'));
            }
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_words_do_not_count_and_summaries_do() {
        let page = "<p>one two</p><details><summary>three</summary><p>not these</p><svg></svg>\
                    <details open><summary>nor this</summary>or this</details></details>\
                    <details open><summary>four</summary>five <svg role=\"img\"><title>not said</title><text>six</text></svg></details>";
        assert_eq!(Shown::of(page), Shown { words: 6, charts: 1 });
    }
}
