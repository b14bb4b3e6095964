//! Letters for terminals whose locale is not UTF-8: signs of print become those of ASCII.

use std::borrow::Cow;
use std::env;
use std::fmt::Write as _;
use std::sync::OnceLock;

/// Whether the locale's letters are UTF-8. Where none is named, as in many containers, they are taken to be.
pub fn are_utf8() -> bool {
    static ARE_UTF8: OnceLock<bool> = OnceLock::new();
    *ARE_UTF8.get_or_init(|| is_utf8(|name| env::var_os(name)?.into_string().ok()))
}

/// By the variables that setlocale(3) reads for LC_CTYPE, in its order.
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable).find(|name| !name.is_empty());
    named.is_none_or(|name| {
        let name = name.to_ascii_lowercase();
        name.contains("utf-8") || name.contains("utf8")
    })
}

/// The text in letters of the locale.
pub fn of_locale(text: &str) -> Cow<'_, str> {
    if are_utf8() { Cow::Borrowed(text) } else { ascii(text) }
}

/// The text in ASCII. What has no like there is written as its number.
fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match like(letter) {
            _ if letter.is_ascii() => plain.push(letter),
            Some(like) => plain += like,
            None => drop(write!(plain, "\\u{{{:x}}}", u32::from(letter))),
        }
    }
    Cow::Owned(plain)
}

/// What stands for a sign: one letter if one does, so that columns keep their width.
fn like(letter: char) -> Option<&'static str> {
    Some(match letter {
        '\u{a0}' => " ",
        '–' | '—' | '−' | '─' | '╌' => "-",
        '━' | '═' => "=",
        '│' | '┃' | '║' => "|",
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' | '╞' | '╪' | '╡' => "+",
        '×' => "x",
        '·' => "*",
        '±' => "+-",
        '…' => "...",
        '→' => "->",
        '≈' => "~",
        '≠' => "!=",
        '≤' => "<=",
        '≥' => ">=",
        'µ' | 'μ' => "u",
        '°' => " deg",
        '®' => "(R)",
        '™' => "(TM)",
        '“' | '”' => "\"",
        '‘' | '’' => "'",
        char::REPLACEMENT_CHARACTER => "?",
        '⁶' => "^6",
        '⁹' => "^9",
        'ä' => "ae",
        'ö' => "oe",
        'ü' => "ue",
        'ß' => "ss",
        'é' | 'è' | 'ê' => "e",
        // Heights of bars, by how dark they are.
        '▁' => ".",
        '▂' => ":",
        '▃' => "-",
        '▄' => "=",
        '▅' => "+",
        '▆' => "*",
        '▇' => "#",
        '█' | '▀' => "@",
        '▒' | '░' => "%",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_that_counts_is_the_one_that_setlocale_takes() {
        let is = |variables: &[(&str, &str)]| {
            is_utf8(|name| Some(variables.iter().find(|(known, _)| *known == name)?.1.to_owned()))
        };
        assert!(is(&[]) && is(&[("LANG", "")]), "nothing is named");
        assert!(is(&[("LANG", "de_DE.UTF-8")]) && is(&[("LC_ALL", "C.utf8"), ("LANG", "C")]));
        assert!(!is(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]));
        assert!(!is(&[("LC_CTYPE", "POSIX"), ("LANG", "de_DE.UTF-8")]) && !is(&[("LANG", "de_DE")]));
    }

    #[test]
    fn signs_become_ascii_and_what_has_no_like_there_its_number() {
        assert_eq!(ascii("24.1–26.3 ns, ±4 %, 2.84 × the limit"), "24.1-26.3 ns, +-4 %, 2.84 x the limit");
        assert_eq!(ascii("10⁶ · −3…2 → 中"), "10^6 * -3...2 -> \\u{4e2d}");
        assert!(matches!(ascii("plain"), Cow::Borrowed("plain")));
        let bars = ascii("▁▂▃▄▅▆▇█");
        assert!(bars.is_ascii() && bars.len() == 8, "{bars}");
    }

    /// What coho itself writes needs no number.
    #[test]
    fn every_sign_of_our_own_has_a_like() {
        for crate_name in ["cli", "show", "model", "run", "probe", "platform", "counters", "topology"] {
            let mut folders = vec![format!("{}/../{crate_name}/src", env!("CARGO_MANIFEST_DIR")).into()];
            while let Some(folder) = folders.pop() {
                for entry in std::fs::read_dir::<std::path::PathBuf>(folder).unwrap() {
                    let path = entry.unwrap().path();
                    if path.ends_with("reading") {
                        // What it reads, and does not write.
                    } else if path.is_dir() {
                        folders.push(path);
                    } else if path.extension().is_some_and(|extension| extension == "rs") {
                        let source = std::fs::read_to_string(&path).unwrap();
                        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
                        let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
                        let strange = |letter: &char| !letter.is_ascii() && like(*letter).is_none();
                        let strange: Vec<char> = code.flat_map(str::chars).filter(strange).collect();
                        assert!(strange.is_empty(), "{}: {strange:?}", path.display());
                    }
                }
            }
        }
    }
}
