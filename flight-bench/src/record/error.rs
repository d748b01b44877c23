//! Failures, counted by their gRPC code.
//!
//! A failure never enters a rate or a latency; it stands beside them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::limits::{ERROR_SENTENCE_CHARS_MAX, ERROR_SENTENCES_MAX};

/// One failure of a stream: what it is counted under, and its sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// A gRPC code (`NOT_FOUND`); for what has none, `CONNECT`, `DECODE`, `ENCODE`, `CUT` or
    /// `MISMATCH`.
    pub(crate) code: Cow<'static, str>,
    pub(crate) sentence: String,
}

impl Failure {
    pub(crate) fn new(code: impl Into<Cow<'static, str>>, sentence: impl Into<String>) -> Self {
        Self { code: code.into(), sentence: sentence.into() }
    }

    /// Whether the same call may well succeed a moment later: the server is away or restarts.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(&*self.code, "CONNECT" | "UNAVAILABLE" | "CUT")
    }

    /// Whether it counts before the window too: connections do, and data that is not what was sent
    /// is wrong whenever it comes.
    pub(super) fn counts_outside_window(&self) -> bool {
        matches!(&*self.code, "CONNECT" | "DECODE" | "MISMATCH")
    }
}

impl From<tonic::Status> for Failure {
    fn from(status: tonic::Status) -> Self {
        Self::new(code_name(status.code()), one_line(status.message()))
    }
}

/// How often each code came, with its first few distinct sentences.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErrorTally {
    by_code: BTreeMap<Cow<'static, str>, Errors>,
}

/// The failures of one code.
#[derive(Debug, Clone, Default)]
pub(crate) struct Errors {
    pub(crate) count: u64,
    pub(crate) sentences: Vec<String>,
}

impl ErrorTally {
    pub(crate) fn add(&mut self, failure: Failure) {
        self.absorb(failure.code, 1, [failure.sentence]);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (code, errors) in &other.by_code {
            self.absorb(code.clone(), errors.count, errors.sentences.iter().cloned());
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.by_code.values().map(|errors| errors.count).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Errors)> {
        self.by_code.iter().map(|(code, errors)| (&**code, errors))
    }

    /// Every code with its first sentence, on one line.
    pub(crate) fn sentence(&self) -> String {
        let one = |(code, errors): (&str, &Errors)| {
            format!("{code}: {}", errors.sentences.first().map_or("", String::as_str))
        };
        self.iter().map(one).collect::<Vec<_>>().join("; ")
    }

    pub(crate) fn absorb(
        &mut self,
        code: Cow<'static, str>,
        count: u64,
        sentences: impl IntoIterator<Item = String>,
    ) {
        let errors = self.by_code.entry(code).or_default();
        errors.count += count;
        for sentence in sentences {
            let known = errors.sentences.contains(&sentence);
            if !known && errors.sentences.len() < ERROR_SENTENCES_MAX {
                errors.sentences.push(sentence);
            }
        }
    }
}

/// A server's sentence as one bounded line: it may hold anything.
pub(crate) fn one_line(text: &str) -> String {
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(ERROR_SENTENCE_CHARS_MAX).map(printable).collect()
}

/// The names of gRPC's status codes, as its specification writes them.
fn code_name(code: tonic::Code) -> &'static str {
    use tonic::Code;
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_by_code_and_merged_by_addition() {
        let mut tally = ErrorTally::default();
        for _ in 0..5 {
            tally.add(tonic::Status::not_found("no such ticket").into());
        }
        let mut other = ErrorTally::default();
        other.add(tonic::Status::not_found("no such ticket").into());
        other.add(Failure::new("CONNECT", "connection refused"));
        tally.merge(&other);
        check(&tally, &[("CONNECT", 1, 1), ("NOT_FOUND", 6, 1)]);
        assert_eq!(tally.sentence(), "CONNECT: connection refused; NOT_FOUND: no such ticket");
    }

    #[test]
    fn a_thousand_different_sentences_are_not_kept() {
        let mut tally = ErrorTally::default();
        for i in 0..1000 {
            tally.add(tonic::Status::internal(format!("attempt {i}")).into());
        }
        check(&tally, &[("INTERNAL", 1000, ERROR_SENTENCES_MAX)]);
    }

    #[test]
    fn what_a_server_says_stays_on_one_line() {
        let failure =
            Failure::from(tonic::Status::unknown("a\nb\x1b[31m".to_owned() + &"x".repeat(999)));
        assert!(failure.sentence.starts_with("a b [31m"), "{}", failure.sentence);
        assert_eq!(failure.sentence.chars().count(), ERROR_SENTENCE_CHARS_MAX);
    }

    fn check(tally: &ErrorTally, want: &[(&str, u64, usize)]) {
        let got: Vec<_> = tally.iter().map(|(c, e)| (c, e.count, e.sentences.len())).collect();
        assert_eq!(got, want);
        assert_eq!(tally.total(), want.iter().map(|(_, count, _)| count).sum::<u64>());
    }
}
