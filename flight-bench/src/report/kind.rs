//! What a document is of, by its schema.

use anyhow::{Context, bail};
use serde::Deserialize;

/// The documents that this program writes and reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Run,
    Ladder,
    Pairs,
    Comparisons,
    Sweep,
}

impl Kind {
    /// Of one whose schema is another, be it of a later version, the reader of runs says so.
    ///
    /// # Errors
    ///
    /// The text is no JSON.
    pub(crate) fn of(text: &str) -> anyhow::Result<Self> {
        /// Of a document, this alone.
        #[derive(Deserialize)]
        struct Head {
            schema: Option<String>,
        }
        let head: Head = serde_json::from_str(text).context("not JSON")?;
        Ok(match head.schema.as_deref() {
            Some("flight-bench.ladder/1") => Self::Ladder,
            Some("flight-bench.ab/1") => Self::Pairs,
            Some("flight-bench.compare/1") => Self::Comparisons,
            Some("flight-bench.sweep/1") => Self::Sweep,
            _ => Self::Run,
        })
    }

    /// As a sentence has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Run => "a run",
            Self::Ladder => "a ladder",
            Self::Pairs | Self::Comparisons => "a comparison",
            Self::Sweep => "a sweep",
        }
    }

    /// Refuses what is no run where only runs will do: to be compared, or as a baseline.
    ///
    /// # Errors
    ///
    /// It is something else: what it is, and what to use.
    pub(crate) fn check_run(text: &str) -> anyhow::Result<()> {
        match Self::of(text)? {
            Self::Run => Ok(()),
            other => bail!(
                "it is {}, which 'flight-bench report' tells; only runs of get, put, exchange, \
                 unary, tls, engines, mixed and quick are compared and made a baseline: name one, \
                 such as last~1 or an id",
                other.name()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_runs_are_compared_and_others_are_told_by_what_they_are() {
        let check = |schema: &str, want: Option<&str>| {
            let text = serde_json::json!({ "schema": schema }).to_string();
            let refused = Kind::check_run(&text).err().map(|error| error.to_string());
            match (&refused, want) {
                (None, None) => {}
                (Some(error), Some(want)) => assert!(error.starts_with(want), "{error}"),
                _ => panic!("{schema}: {refused:?}, not {want:?}"),
            }
        };
        check("flight-bench.run/1", None);
        check("flight-bench.ladder/1", Some("it is a ladder, which 'flight-bench report' tells;"));
        check("flight-bench.ab/1", Some("it is a comparison, which"));
        check("flight-bench.compare/1", Some("it is a comparison, which"));
        check("flight-bench.sweep/1", Some("it is a sweep, which"));
        // Its reader says what it is.
        check("flight-bench.run/9", None);
        assert!(Kind::check_run("<html>").is_err());
    }
}
