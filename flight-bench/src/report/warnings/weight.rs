//! Which warnings make figures untrustworthy: those that end a `--strict` run with exit code 4.

/// What a warning means for who acts on the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// The figures are of something else than the server, or of nothing steady.
    Untrusted,
    /// Good to know: the figures stand.
    Told,
}

/// Every code there is.
const WEIGHTS: [(&str, Weight); 20] = [
    ("saturated", Weight::Untrusted),
    ("nagle", Weight::Untrusted),
    ("client-limits", Weight::Untrusted),
    ("busy-machine", Weight::Untrusted),
    ("steal", Weight::Untrusted),
    ("throttled", Weight::Untrusted),
    ("unsteady", Weight::Untrusted),
    ("stalled", Weight::Untrusted),
    ("noisy", Weight::Untrusted),
    ("clock", Weight::Untrusted),
    ("short", Weight::Untrusted),
    // Refused before anything is measured, unless it is allowed.
    ("debug-build", Weight::Told),
    ("unfair", Weight::Told),
    ("few-events", Weight::Told),
    ("other-clock", Weight::Told),
    ("warm-up", Weight::Told),
    ("locations", Weight::Told),
    ("unverified", Weight::Told),
    ("password-readable", Weight::Told),
    ("note", Weight::Told),
];

/// Whether figures with such a warning are not to be acted on. What a later version warns of is
/// taken for told.
pub(crate) fn is_untrusted(code: &str) -> bool {
    WEIGHTS.iter().any(|(known, weight)| *known == code && *weight == Weight::Untrusted)
}

#[cfg(test)]
pub(super) fn is_weighed(code: &str) -> bool {
    WEIGHTS.iter().any(|(known, _)| *known == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_figures_untrustworthy_is_told_from_what_is_good_to_know() {
        for code in ["saturated", "unsteady", "noisy", "steal", "throttled", "stalled"] {
            assert!(is_untrusted(code), "{code}");
        }
        for code in ["few-events", "warm-up", "unverified", "of-a-later-version"] {
            assert!(!is_untrusted(code), "{code}");
        }
    }
}
