//! The exit codes of the program, and the error that carries one.
//!
//! Sentences are written where things go wrong; this file only says how a run ends.

use std::fmt;
use std::process::ExitCode;

/// How the program ends. Scripts rely on these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    /// An error of the server, a mismatch, or a server that died: figures may stand beside it.
    Failed = 1,
    /// Wrong flags. clap uses the same number.
    Usage = 2,
    /// A threshold failed, or a comparison says that a gating figure regressed.
    Regressed = 3,
    /// With `--strict`: the figures stand, but do not settle what was asked of them, or none were
    /// measured, by a debug build.
    Unsettled = 4,
    /// Nothing answered at the target, from the start on.
    Unreachable = 5,
    /// Ctrl-C; what was measured so far is printed.
    Interrupted = 130,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// The end that a code stands for; one of a later version is a failure.
    pub(crate) fn from_code(code: u8) -> Self {
        let all = [
            Self::Done,
            Self::Usage,
            Self::Regressed,
            Self::Unsettled,
            Self::Unreachable,
            Self::Interrupted,
        ];
        all.into_iter().find(|exit| exit.code() == code).unwrap_or(Self::Failed)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a run stops early, and with which exit code.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) exit: Exit,
    reason: anyhow::Error,
}

impl Stop {
    pub(crate) fn failed(reason: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Failed, reason: reason.into() }
    }

    pub(crate) fn with_exit(exit: Exit, reason: anyhow::Error) -> Self {
        Self { exit, reason }
    }

    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, reason: anyhow::Error::msg(sentence.into()) }
    }

    pub(crate) fn unreachable(reason: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Unreachable, reason: reason.into() }
    }

    /// The same end, with what it means in front of its reason.
    pub(crate) fn because(self, sentence: String) -> Self {
        Self { reason: self.reason.context(sentence), ..self }
    }

    pub(crate) fn interrupted() -> Self {
        let reason = anyhow::Error::msg("interrupted; what was measured so far is reported");
        Self { exit: Exit::Interrupted, reason }
    }
}

impl From<anyhow::Error> for Stop {
    fn from(reason: anyhow::Error) -> Self {
        Self::failed(reason)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `{:#}` prints the chain of contexts on one line.
        write!(f, "{:#}", self.reason)
    }
}
