//! Names of datasets, checked before they touch a file system.
//!
//! A name is kept byte for byte: no Unicode normalisation, no percent decoding, no trimming.
//! What a name means is decided in `target` (uploads) and `catalogue` (lookups).

use std::fmt;

use crate::error::StoreError;
use crate::limits::{COMPONENT_BYTES_MAX, COMPONENTS_MAX, NAME_BYTES_MAX, NAME_CHARS_SHOWN};

/// The folder in the root that belongs to the store; no dataset's name starts with it.
pub(crate) const RESERVED: &str = ".flight";

/// The name of a dataset: one or more components, one for each folder and one for the file,
/// joined by `/`. It is relative, holds no `.`, `..`, empty or control-character component, and
/// does not reach into `.flight`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatasetName(String);

impl DatasetName {
    /// Checks a name whose components are joined by `/`.
    pub fn parse(name: &str) -> Result<Self, StoreError> {
        match fault(name) {
            None => Ok(Self(name.to_owned())),
            Some(reason) => Err(StoreError::BadName { name: shown(name), reason }),
        }
    }

    /// Checks a name given as components. A single component may hold slashes, since many
    /// clients send a whole path as one.
    pub fn from_components<S: AsRef<str>>(components: &[S]) -> Result<Self, StoreError> {
        let joined = components.iter().map(AsRef::as_ref).collect::<Vec<_>>().join("/");
        if components.len() > 1 && components.iter().any(|c| c.as_ref().contains('/')) {
            let reason = "has several components and a slash within one; \
                          give one component for each folder"
                .to_owned();
            return Err(StoreError::BadName { name: shown(&joined), reason });
        }
        Self::parse(&joined)
    }

    /// The components, joined by `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The components, outermost folder first.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }
}

impl fmt::Display for DatasetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name as an error repeats it: control characters escaped, cut where it is long.
pub(crate) fn shown(name: &str) -> String {
    let mut shown: String =
        name.chars().take(NAME_CHARS_SHOWN).flat_map(char::escape_debug).collect();
    if name.chars().nth(NAME_CHARS_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

fn fault(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("is empty; give at least one component".to_owned());
    }
    if name.len() > NAME_BYTES_MAX {
        return Some(format!("is {} bytes, more than {NAME_BYTES_MAX}", name.len()));
    }
    if name.starts_with('/') {
        return Some("is absolute; names are relative to the data folder".to_owned());
    }
    let components = name.split('/').count();
    if components > COMPONENTS_MAX {
        return Some(format!("has {components} components, more than {COMPONENTS_MAX}"));
    }
    // On a folder that ignores case, `.FLIGHT` would be the reserved folder too.
    if name.get(..RESERVED.len()).is_some_and(|head| head.eq_ignore_ascii_case(RESERVED)) {
        return Some(format!("starts with {RESERVED}, which belongs to the server"));
    }
    name.split('/').find_map(component_fault)
}

fn component_fault(component: &str) -> Option<String> {
    if component.is_empty() {
        return Some("has an empty component; use single slashes, none at the end".to_owned());
    }
    if component == "." || component == ".." {
        return Some(format!("has the component \"{component}\"; name the folder itself"));
    }
    if let Some(control) = component.chars().find(|c| c.is_control()) {
        return Some(format!("holds the control character U+{:04X}", u32::from(control)));
    }
    if component.len() > COMPONENT_BYTES_MAX {
        let len = component.len();
        return Some(format!("has a component of {len} bytes, more than {COMPONENT_BYTES_MAX}"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `want` is empty for a good name, else a part of the reason it is refused for.
    fn check(name: &str, want: &str) {
        match DatasetName::parse(name) {
            Ok(parsed) => {
                assert_eq!(want, "", "{name:?} was accepted");
                assert_eq!(parsed.as_str(), name, "kept byte for byte");
            }
            Err(error) => {
                let text = error.to_string();
                assert!(!want.is_empty() && text.contains(want), "{name:?}: {text}");
                assert!(text.len() < 2048 && !text.chars().any(char::is_control), "{text:?}");
            }
        }
    }

    #[test]
    fn any_printable_text_is_a_component() {
        for name in [
            "a",
            "a b",
            " a ",
            "a.b",
            "a.",
            ".a",
            "...",
            "..a",
            "a..",
            "ä/ö/ü",
            "数据/表",
            "📈",
            "a\\b",
            "..\\..\\x",
            "%2e%2e/x",
            "%2e%2e%2fx",
            "%00",
            "a%2Fb",
            "a:b",
            "C:\\x",
            "~/x",
            "-rf",
            "a'b\"c",
            "$(x)",
            "a;b",
            "a|b",
            "*",
            "?",
            "name#1",
            "CON",
            "nul.feather",
            "．．/x",
            "‥/x",
            "…",
            "∕etc∕passwd",
            "e\u{301}",
            "\u{e9}",
            "\u{202e}x",
            "\u{feff}x",
            "flight/x",
            "a/.flight",
            "a/.flight/x",
            ".fligh",
            "file:x",
            "http:/x",
        ] {
            check(name, "");
        }
    }

    #[test]
    fn names_that_climb_or_start_at_the_root_are_refused() {
        for name in
            ["..", "../x", "a/..", "a/../b", "a/../../b", "../../../../etc/passwd", "./..", "../."]
        {
            check(name, "name the folder itself");
        }
        for name in [".", "./x", "x/.", "x/./y"] {
            check(name, "has the component \".\";");
        }
        for name in ["/", "/etc/passwd", "//x", "/../x", "/.flight"] {
            check(name, "is absolute");
        }
        for name in ["x/", "x//y", "x//", "..//x/"] {
            check(name, "component");
        }
        check("", "is empty");
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_accepted_is_a_path_below_its_root(name in "([./a\\\\]|.|\\PC){0,12}") {
            if let Ok(parsed) = DatasetName::parse(&name) {
                let path = std::path::Path::new(parsed.as_str());
                let components: Vec<_> = path.components().collect();
                assert!(components.iter().all(|c| matches!(c, std::path::Component::Normal(_))));
                assert_eq!(components.len(), parsed.components().count());
                assert_eq!(path.as_os_str().as_encoded_bytes(), name.as_bytes());
            }
        }
    }

    #[test]
    fn control_characters_are_refused_wherever_they_stand() {
        for code in (0..0x20).chain(0x7f..0xa0) {
            let control = char::from_u32(code).unwrap();
            let want = format!("U+{code:04X}");
            check(&format!("{control}"), &want);
            check(&format!("a{control}b"), &want);
            check(&format!("x/y{control}"), &want);
        }
    }

    #[test]
    fn the_servers_own_folder_is_refused_in_any_case() {
        for name in [".flight", ".flight/staging/x", ".flights", ".FLIGHT/x", ".Flight-old/x"] {
            check(name, "belongs to the server");
        }
    }

    #[test]
    fn lengths_are_bounded_at_the_byte() {
        check(&"x".repeat(255), "");
        check(&"x".repeat(256), "component of 256 bytes, more than 255");
        check(&format!("{}x", "ä".repeat(127)), "");
        check(&"ä".repeat(128), "component of 256 bytes");
        check(&["x"; 64].join("/"), "");
        check(&["x"; 65].join("/"), "65 components, more than 64");
        check(&"x/".repeat(10_000), "bytes, more than 4095");
    }

    #[test]
    fn components_are_joined_and_one_may_hold_slashes() {
        let join = |components: &[&str]| DatasetName::from_components(components);
        assert_eq!(join(&["a", "b"]).unwrap().as_str(), "a/b");
        assert_eq!(join(&["a/b"]).unwrap().as_str(), "a/b");
        assert_eq!(join(&["a", "b"]).unwrap().components().collect::<Vec<_>>(), ["a", "b"]);
        for bad in [&["a", "b/c"][..], &["a", ""], &["..", "x"], &["", "etc"], &[], &["a", "/x"]] {
            assert!(join(bad).is_err(), "{bad:?}");
        }
    }
}
