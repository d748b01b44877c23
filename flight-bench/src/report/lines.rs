//! Words set within 100 columns, line by line.

use std::fmt::Write;

pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

pub(super) fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a string cannot fail");
}

/// Joins `parts` with dots and goes on to the next line before one gets too long.
pub(super) fn parts(out: &mut String, parts: &[String]) {
    let mut text = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let joined = text.chars().count() + 3 + part.chars().count();
        if !text.is_empty() && joined > COLUMNS {
            line(out, &(std::mem::take(&mut text) + " ·"));
        }
        let dot = if text.is_empty() { "" } else { " · " };
        text = format!("{text}{dot}{part}");
    }
    line(out, &text);
}

/// Writes words on lines that are not too long; the first begins with `first`, others with `rest`.
pub(crate) fn wrapped(out: &mut String, first: &str, rest: &str, text: &str) {
    let mut current = first.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && current.chars().count() + 1 + word.chars().count() > COLUMNS {
            line(out, &current);
            rest.clone_into(&mut current);
            is_empty = true;
        }
        if !is_empty {
            current.push(' ');
        }
        current.push_str(word);
        is_empty = false;
    }
    line(out, &current);
}

/// Columns of a line, less the two for the dot at its end.
pub(super) const COLUMNS: usize = 98;
