//! Formats of affinity, as OpenMP 5 has them: text with fields such as `%n`, `%0.4n` or `%{thread_num}`. libgomp and LLVM's
//! runtime differ in what they do with a field that is wrong.

/// Whose grammar counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Refuses what is wrong.
    Libgomp,
    /// Prints `undefined` in its place.
    Llvm,
}

/// What a field stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Team,
    Teams,
    Level,
    Thread,
    Threads,
    Ancestor,
    Host,
    Process,
    NativeThread,
    Cpus,
}

/// The short and the long name of each.
const FIELDS: [(u8, &[u8], Field); 10] = [
    (b't', b"team_num", Field::Team),
    (b'T', b"num_teams", Field::Teams),
    (b'L', b"nesting_level", Field::Level),
    (b'n', b"thread_num", Field::Thread),
    (b'N', b"num_threads", Field::Threads),
    (b'a', b"ancestor_tnum", Field::Ancestor),
    (b'H', b"host", Field::Host),
    (b'P', b"process_id", Field::Process),
    (b'i', b"native_thread_id", Field::NativeThread),
    (b'A', b"thread_affinity", Field::Cpus),
];

/// A field's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Whose width may be made up by zeros, after the sign or `0x`.
    Number(String),
    Text(String),
}

/// The runtime would end the program for a field that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// A field's width, and what makes up for it.
#[derive(Debug, Clone, Copy, Default)]
struct Width {
    least: usize,
    is_right: bool,
    has_zeros: bool,
}

/// The text of a format, given the value of each field.
pub fn expand(format: &[u8], dialect: Dialect, value: &dyn Fn(Field) -> Value) -> Result<Vec<u8>, Refused> {
    let (mut text, mut rest) = (Vec::new(), format);
    while let Some(at) = rest.iter().position(|&one| one == b'%') {
        text.extend(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(b"%") {
            text.push(b'%');
            rest = after;
            continue;
        }
        let (width, after) = match dialect {
            Dialect::Libgomp => strict_width(rest)?,
            Dialect::Llvm => width(rest),
        };
        let (field, after) = field(after);
        match (field, dialect) {
            (Some(field), _) => put(&mut text, width, value(field)),
            (None, Dialect::Libgomp) => return Err(Refused),
            (None, Dialect::Llvm) => text.extend(b"undefined"),
        }
        rest = after;
    }
    text.extend(rest);
    Ok(text)
}

/// A width as libgomp reads it: zeros only to the right, and neither without a number.
fn strict_width(text: &[u8]) -> Result<(Width, &[u8]), Refused> {
    let (has_zeros, text) = skip(text, b'0');
    let (is_right, text) = skip(text, b'.');
    if has_zeros && !is_right {
        return Err(Refused);
    }
    let (digits, after) = split(text, u8::is_ascii_digit);
    match digits.first() {
        Some(b'1'..=b'9') => Ok((Width { least: number(digits), is_right, has_zeros }, after)),
        _ if is_right => Err(Refused),
        _ => Ok((Width::default(), text)),
    }
}

/// A width as LLVM's runtime reads it, by way of the C library's `printf`: eight digits at most, and zeros only to the
/// right.
fn width(text: &[u8]) -> (Width, &[u8]) {
    let (zeros, text) = skip(text, b'0');
    let (is_right, text) = skip(text, b'.');
    let (digits, after) = split(text, u8::is_ascii_digit);
    let digits = &digits[..digits.len().min(8)];
    let has_zeros = is_right && (zeros || digits.starts_with(b"0"));
    (Width { least: number(digits), is_right, has_zeros }, after)
}

/// What a name stands for, if anything, and what comes behind it: LLVM's runtime leaves out the rest of a wrong name.
fn field(text: &[u8]) -> (Option<Field>, &[u8]) {
    let Some(text) = text.strip_prefix(b"{") else {
        let Some((&name, after)) = text.split_first() else { return (None, text) };
        return (FIELDS.iter().find(|field| field.0 == name).map(|field| field.2), after);
    };
    let found = FIELDS.iter().find_map(|&(_, name, field)| Some((field, text.strip_prefix(name)?)));
    if let Some((field, after)) = found
        && let Some(after) = after.strip_prefix(b"}")
    {
        return (Some(field), after);
    }
    let after = found.map_or(text, |(_, after)| after);
    let after = skip(after, b'}').1;
    let after = split(after, |one| one.is_ascii_alphanumeric() || *one == b'_').1;
    (None, skip(after, b'}').1)
}

fn skip(text: &[u8], one: u8) -> (bool, &[u8]) {
    text.strip_prefix(&[one]).map_or((false, text), |after| (true, after))
}

fn split(text: &[u8], is_in: impl Fn(&u8) -> bool) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|one| is_in(one)).count())
}

fn number(digits: &[u8]) -> usize {
    digits
        .iter()
        .fold(0, |number: usize, digit| number.saturating_mul(10).saturating_add((digit - b'0').into()))
}

fn put(text: &mut Vec<u8>, width: Width, value: Value) {
    let (value, may_have_zeros) = match value {
        Value::Number(value) => (value, true),
        Value::Text(value) => (value, false),
    };
    let missing = width.least.saturating_sub(value.len());
    let pad = |text: &mut Vec<u8>, one| text.extend(std::iter::repeat_n(one, missing));
    if width.has_zeros && may_have_zeros {
        let sign = ["-", "0x"].into_iter().find(|sign| value.starts_with(sign)).unwrap_or_default();
        text.extend(sign.bytes());
        pad(text, b'0');
        text.extend(&value.as_bytes()[sign.len()..]);
    } else if width.is_right {
        pad(text, b' ');
        text.extend(value.bytes());
    } else {
        text.extend(value.bytes());
        pad(text, b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(field: Field) -> Value {
        match field {
            Field::Ancestor => Value::Number("-1".into()),
            Field::NativeThread => Value::Number("0x7f".into()),
            Field::Host => Value::Text("vm".into()),
            Field::Cpus => Value::Text("0-1".into()),
            other => Value::Number((other as u8).to_string()),
        }
    }

    fn text(format: &str, dialect: Dialect) -> Option<String> {
        expand(format.as_bytes(), dialect, &value).ok().map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn fields_have_two_names_and_a_width() {
        for dialect in [Dialect::Libgomp, Dialect::Llvm] {
            for (format, expected) in [
                ("", ""),
                ("%t%T %L|%n%N %a %H %P %A%%", "01 2|34 -1 vm 7 0-1%"),
                ("%{team_num}%{num_teams} %{nesting_level}", "01 2"),
                ("%{thread_num}%{num_threads} %{ancestor_tnum} %{host}", "34 -1 vm"),
                ("%{process_id} %{native_thread_id} %{thread_affinity}", "7 0x7f 0-1"),
                ("%5n|%.5n|%0.5n", "3    |    3|00003"),
                ("%5a|%.5a|%0.5a|%1a|%.1a", "-1   |   -1|-0001|-1|-1"),
                ("%6A|%.6A|%0.6A|%0.3H|", "0-1   |   0-1|   0-1| vm|"),
                ("%12{thread_num}|", "3           |"),
            ] {
                assert_eq!(text(format, dialect).as_deref(), Some(expected), "{format} {dialect:?}");
            }
        }
        assert_eq!(text("%0.6i", Dialect::Libgomp).as_deref(), Some("0x007f"));
    }

    /// As both runtimes have answered.
    #[test]
    fn what_is_wrong_is_refused_or_undefined() {
        for (format, llvm) in [
            ("%x", "undefined"),
            ("%0n", "3"),
            ("%.n", "3"),
            ("%05n", "3    "),
            ("%.05n", "00003"),
            ("%0.05n", "00003"),
            ("%00.5n", "undefined5n"),
            ("%-5n", "undefined5n"),
            ("%5.3n", "undefined3n"),
            ("a%5%b", "aundefinedb"),
            ("%{n}", "undefined"),
            ("%{}abc-d", "undefined-d"),
            ("%{a-b}c", "undefined-b}c"),
            ("%{thread_num", "undefined"),
            ("%{thread_numx}", "undefined"),
            ("%{thread_num-}x", "undefined-}x"),
            ("%{ thread_num}", "undefined thread_num}"),
        ] {
            assert_eq!(text(format, Dialect::Llvm).as_deref(), Some(llvm), "{format}");
            assert_eq!(text(format, Dialect::Libgomp), None, "{format}");
        }
        // LLVM's runtime reads on behind the end.
        assert_eq!(text("a%", Dialect::Llvm).as_deref(), Some("aundefined"));
        assert_eq!(text("a%5", Dialect::Libgomp), None);
    }
}
