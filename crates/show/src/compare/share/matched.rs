//! Which line of one profile is which of another.

use coho_profile::ShareLine;

/// A line by its place in each list.
pub(super) type Pair = (Option<usize>, Option<usize>);

/// Pairs the lines of two lists that are about the same object: those alike in more first. The others stand alone. In
/// the order of the first list, with what the second has alone at its end.
pub(super) fn matched(first: &[ShareLine], second: &[ShareLine]) -> Vec<Pair> {
    let mut of = vec![None; first.len()];
    let is_same: [fn(&ShareLine, &ShareLine) -> bool; 4] = [
        |a, b| (&a.object, a.kind, a.bytes) == (&b.object, b.kind, b.bytes),
        |a, b| (&a.object, a.bytes) == (&b.object, b.bytes),
        |a, b| (&a.object, a.kind) == (&b.object, b.kind),
        |a, b| a.object == b.object,
    ];
    for is_same in is_same {
        for (at, line) in first.iter().enumerate() {
            let is_free = |other: &usize| !of.contains(&Some(*other)) && is_same(line, &second[*other]);
            if of[at].is_none() {
                of[at] = (0..second.len()).find(is_free);
            }
        }
    }
    // A change to a file moves the lines after it.
    let alone: Vec<usize> = (0..first.len()).filter(|at| of[*at].is_none()).collect();
    let free: Vec<usize> = (0..second.len()).filter(|other| !of.contains(&Some(*other))).collect();
    let is_moved = |a: &ShareLine, b: &ShareLine| {
        (without_lines(&a.object), a.kind, a.bytes) == (without_lines(&b.object), b.kind, b.bytes)
    };
    for &at in &alone {
        let alike: Vec<usize> =
            free.iter().copied().filter(|other| is_moved(&first[at], &second[*other])).collect();
        let rivals = alone.iter().filter(|rival| is_moved(&first[at], &first[**rival])).count();
        if let ([other], 1) = (&alike[..], rivals) {
            of[at] = Some(*other);
        }
    }
    let both = of.iter().enumerate().map(|(at, other)| (Some(at), *other));
    let rest = (0..second.len()).filter(|other| !of.contains(&Some(*other))).map(|other| (None, Some(other)));
    both.chain(rest).collect()
}

/// An object's name without the numbers of source lines: `allocated at queue.c`.
fn without_lines(object: &str) -> String {
    let word = |word: &str| match word.trim_end_matches(',').rsplit_once(':') {
        Some((file, line)) if !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()) => {
            file.to_owned()
        }
        _ => word.to_owned(),
    };
    object.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use coho_profile::ShareKind;

    use super::*;

    fn line(object: &str, bytes: u64, kind: ShareKind) -> ShareLine {
        ShareLine { object: object.into(), bytes: Some(bytes), kind, ..ShareLine::default() }
    }

    #[test]
    fn lines_are_paired_by_object_and_what_is_more_alike_first() {
        let (falsely, truly) = (ShareKind::False, ShareKind::True);
        let before = [
            line("global stats", 16, falsely),
            line("global stats", 16, truly),
            line("allocated at queue.c:88", 40, falsely),
            line("global gone", 8, falsely),
        ];
        let after = [
            line("global stats", 128, truly),
            line("global stats", 128, falsely),
            line("global new", 8, falsely),
            line("allocated at queue.c:90", 40, falsely),
        ];
        let pairs = matched(&before, &after);
        let expected =
            [(Some(0), Some(1)), (Some(1), Some(0)), (Some(2), Some(3)), (Some(3), None), (None, Some(2))];
        assert_eq!(pairs, expected);
    }

    #[test]
    fn a_source_line_that_may_be_either_of_two_is_neither() {
        let of = |number: u64| line(&format!("allocated at queue.c:{number}"), 40, ShareKind::False);
        assert_eq!(
            matched(&[of(88)], &[of(90), of(91)]),
            [(Some(0), None), (None, Some(0)), (None, Some(1))]
        );
        assert_eq!(
            matched(&[of(88), of(89)], &[of(90)]),
            [(Some(0), None), (Some(1), None), (None, Some(0))]
        );
        assert_eq!(
            without_lines("allocated at a.c:1, allocated at b.c:x"),
            "allocated at a.c allocated at b.c:x"
        );
    }
}
