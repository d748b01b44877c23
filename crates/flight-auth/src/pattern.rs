//! Patterns for the names of datasets.

use crate::error::AuthError;
use crate::limits::PATTERN_BYTES_MAX;

const ANY_DEPTH: &str = "**";

/// A pattern for names of datasets, component by component: `*` stands for any characters within a
/// component, `**` for any number of components – at the end for one at least, so that `a/**` is
/// what lies in the folder `a`, and not the dataset `a` beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetPattern {
    components: Vec<String>,
}

impl DatasetPattern {
    /// Checks a pattern.
    ///
    /// # Errors
    /// When it is too long, has an empty component, or `**` beside other characters.
    pub fn parse(pattern: &str) -> Result<Self, AuthError> {
        let bad = |reason| {
            let shown = pattern.chars().take(PATTERN_BYTES_MAX).collect();
            Err(AuthError::BadPattern { pattern: shown, reason })
        };
        if PATTERN_BYTES_MAX < pattern.len() {
            return bad("is longer than 1024 bytes");
        }
        let mut components: Vec<String> = pattern.split('/').map(str::to_owned).collect();
        if components.iter().any(String::is_empty) {
            return bad("is empty, or starts or ends with a slash, or has two in a row");
        }
        if components.iter().any(|c| c != ANY_DEPTH && c.contains(ANY_DEPTH)) {
            return bad("has ** beside other characters; it stands for whole components");
        }
        if components.last().is_some_and(|last| last == ANY_DEPTH) {
            components.insert(components.len() - 1, "*".to_owned());
        }
        Ok(Self { components })
    }

    /// Whether `dataset`, with its components joined by `/`, is meant.
    pub fn matches(&self, dataset: &str) -> bool {
        let names: Vec<&str> = dataset.split('/').collect();
        let component = |pattern: &String, name: &&str| {
            let byte = |pattern: &u8, byte: &u8| pattern == byte;
            glob(pattern.as_bytes(), name.as_bytes(), |&byte| byte == b'*', byte)
        };
        glob(&self.components, &names, |component| component == ANY_DEPTH, component)
    }
}

/// Whether `items` are what `pattern` says, of which some elements stand for any number of items.
/// Only the last such element is ever tried again, so that no pattern takes more than the product
/// of the two lengths.
fn glob<P, T>(
    pattern: &[P],
    items: &[T],
    is_any: impl Fn(&P) -> bool,
    is_one: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut item) = (0, 0);
    let mut again = None;
    while item < items.len() {
        if pattern.get(at).is_some_and(&is_any) {
            again = Some((at, item));
            at += 1;
        } else if pattern.get(at).is_some_and(|one| is_one(one, &items[item])) {
            at += 1;
            item += 1;
        } else if let Some((any, taken)) = again {
            again = Some((any, taken + 1));
            at = any + 1;
            item = taken + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(is_any)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(pattern: &str, yes: &[&str], no: &[&str]) {
        let parsed = DatasetPattern::parse(pattern).unwrap();
        for name in yes {
            assert!(parsed.matches(name), "{pattern} means {name}");
        }
        for name in no {
            assert!(!parsed.matches(name), "{pattern} does not mean {name}");
        }
    }

    #[test]
    fn a_plain_pattern_is_one_name() {
        check("a/b", &["a/b"], &["a", "a/b/c", "b", "A/b", "a/bb", ""]);
    }

    #[test]
    fn a_star_stays_within_its_component() {
        check("*", &["a", "taxi"], &["a/b"]);
        check("taxi-*", &["taxi-", "taxi-2024"], &["taxi", "taxi-a/b", "a/taxi-1"]);
        check("*a*b", &["ab", "xaxbb", "aab"], &["ba", "abx"]);
        check("a/*/c", &["a/b/c"], &["a/c", "a/b/b/c"]);
    }

    #[test]
    fn two_stars_cross_components() {
        check("**", &["a", "a/b/c"], &[]);
        check("a/**", &["a/b", "a/b/c"], &["a", "ab/c", "b/a/c"]);
        check("**/key", &["key", "a/key", "a/b/key"], &["a/keys", "key/a"]);
        check("a/**/z", &["a/z", "a/b/z", "a/z/z"], &["a", "z", "a/z/b"]);
    }

    #[test]
    fn a_pattern_that_means_nothing_is_refused() {
        let slash = "is empty, or starts or ends with a slash, or has two in a row";
        let stars = "has ** beside other characters; it stands for whole components";
        for (pattern, reason) in
            [("", slash), ("/a", slash), ("a/", slash), ("a//b", slash), ("a**", stars)]
        {
            let expected = AuthError::BadPattern { pattern: pattern.to_owned(), reason };
            assert_eq!(DatasetPattern::parse(pattern), Err(expected));
        }
        assert!(DatasetPattern::parse(&"a".repeat(1025)).is_err());
    }

    /// What a pattern means, by trying everything.
    fn slowly(pattern: &[String], names: &[&str]) -> bool {
        fn within(pattern: &[u8], name: &[u8]) -> bool {
            match pattern.split_first() {
                None => name.is_empty(),
                Some((b'*', rest)) => (0..=name.len()).any(|cut| within(rest, &name[cut..])),
                Some((one, rest)) => name.first() == Some(one) && within(rest, &name[1..]),
            }
        }
        match pattern.split_first() {
            None => names.is_empty(),
            Some((any, rest)) if any == ANY_DEPTH => {
                (0..=names.len()).any(|cut| slowly(rest, &names[cut..]))
            }
            Some((one, rest)) => names.split_first().is_some_and(|(name, more)| {
                within(one.as_bytes(), name.as_bytes()) && slowly(rest, more)
            }),
        }
    }

    proptest! {
        #[test]
        fn it_means_what_trying_everything_finds(
            pattern in r"(\*\*|[ab]?\*?[ab]?)(/(\*\*|[ab]?\*?[ab]?)){0,4}",
            name in "[ab]{1,3}(/[ab]{1,3}){0,4}",
        ) {
            if let Ok(parsed) = DatasetPattern::parse(&pattern) {
                let names: Vec<&str> = name.split('/').collect();
                prop_assert_eq!(parsed.matches(&name), slowly(&parsed.components, &names));
            }
        }
    }
}
