//! A warning: what was seen, why it matters, what to try; and how reports tell it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Name;

/// What a run's figures must not be read without.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Warning {
    /// For programs, and stable: `noisy`.
    pub(crate) code: Name,
    /// Ids of the rows that it is of, the worst first, which the text describes; none: of the run.
    pub(crate) rows: Vec<String>,
    /// What was seen.
    pub(crate) text: String,
    /// Why that matters.
    pub(crate) why: String,
    /// What to do about it, such as an option.
    #[serde(rename = "try")]
    pub(crate) hint: String,
}

/// A warning in a document: those of earlier versions are sentences.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum WarningPart {
    Whole(Warning),
    Sentence(String),
}

/// Between the rows and what was seen.
const AFTER_ROWS: &str = ": ";

impl Warning {
    /// A warning of the whole run.
    pub(crate) fn of_run(
        code: &'static str,
        text: impl Into<String>,
        why: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let (text, why, hint) = (text.into(), why.into(), hint.into());
        Self { code: code.into(), rows: Vec::new(), text, why, hint }
    }

    /// What was seen, with as many rows named as `columns` have room for.
    pub(super) fn seen(&self, columns: usize) -> String {
        let room = columns.saturating_sub(self.text.chars().count() + AFTER_ROWS.len());
        match self.rows.as_slice() {
            [] => self.text.clone(),
            rows => format!("{}{AFTER_ROWS}{}", named(rows, room), self.text),
        }
    }

    /// Why it matters and what to try: `WHY; try: HINT`, as far as there is either.
    pub(super) fn advice(&self) -> Option<String> {
        let hint = (!self.hint.is_empty()).then(|| format!("try: {}", self.hint));
        let why = (!self.why.is_empty()).then(|| self.why.clone());
        let parts: Vec<String> = why.into_iter().chain(hint).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// `put.plain (also get.plain, get.tls-ec, 2 more)`, of which at least the first stands.
fn named(rows: &[String], room: usize) -> String {
    let told = |count: usize| {
        let (first, others) = (&rows[0], &rows[1..]);
        let left = others.len() - count;
        let mut also = others[..count].to_vec();
        also.extend((left > 0).then(|| format!("{left} more")));
        if also.is_empty() { first.clone() } else { format!("{first} (also {})", also.join(", ")) }
    };
    let fits = |count: &usize| told(*count).chars().count() <= room;
    told((0..rows.len()).rev().find(fits).unwrap_or_default())
}

/// All of it in a sentence or two, every row by its name.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.seen(usize::MAX))?;
        if !self.why.is_empty() {
            write!(f, "; {}", self.why)?;
        }
        if self.hint.is_empty() { Ok(()) } else { write!(f, ". Try {}", self.hint) }
    }
}

/// A sentence that is a warning by itself.
impl From<String> for Warning {
    fn from(text: String) -> Self {
        Self::of_run("note", text, "", "")
    }
}

impl From<WarningPart> for Warning {
    fn from(part: WarningPart) -> Self {
        match part {
            WarningPart::Whole(warning) => warning,
            WarningPart::Sentence(text) => text.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(rows: &[&str]) -> Warning {
        Warning {
            rows: rows.iter().map(ToString::to_string).collect(),
            ..Warning::of_run("noisy", "repeats differ by 23 %", "they do", "--repeats 20")
        }
    }

    fn check(rows: &[&str], columns: usize, want: &str) {
        assert_eq!(noisy(rows).seen(columns), want);
    }

    #[test]
    fn as_many_rows_are_named_as_there_is_room_for() {
        let rows = ["put.plain", "get.plain", "get.tls-ec"];
        check(&[], 98, "repeats differ by 23 %");
        check(&rows[..1], 98, "put.plain: repeats differ by 23 %");
        let all = "put.plain (also get.plain, get.tls-ec): repeats differ by 23 %";
        check(&rows, 98, all);
        check(&rows, all.len(), all);
        check(&rows, all.len() - 1, "put.plain (also get.plain, 1 more): repeats differ by 23 %");
        check(&rows, 50, "put.plain (also 2 more): repeats differ by 23 %");
        check(&rows, 10, "put.plain (also 2 more): repeats differ by 23 %");
    }

    #[test]
    fn a_sentence_says_what_why_and_how() {
        let want = "put.plain: repeats differ by 23 %; they do. Try --repeats 20";
        assert_eq!(noisy(&["put.plain"]).to_string(), want);
        assert_eq!(noisy(&[]).advice().as_deref(), Some("they do; try: --repeats 20"));
        let sentence = Warning::from("unverified".to_owned());
        assert_eq!((sentence.to_string().as_str(), sentence.advice()), ("unverified", None));
    }
}
