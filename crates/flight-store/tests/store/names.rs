//! Names in requests: what is stored under exactly that name, and what is refused.

use flight_store::{DatasetName, Mode, StoreError};

use crate::fixture::{Fixture, put, request};

/// Names that look dangerous and are names like any other.
const LITERAL: &[&str] = &[
    "a",
    "a b",
    " a",
    "a ",
    "a.b",
    "a.",
    "a..",
    ".a",
    "..a",
    "...",
    "....",
    "a..b",
    ".. ",
    " ..",
    ".. /x",
    "..;/x",
    "..\\x",
    "..\\..\\x",
    "a\\b",
    "\\",
    "\\\\server\\share",
    "C:",
    "C:\\x",
    "%2e",
    "%2e%2e",
    "%2e%2e/x",
    "%2E%2E/x",
    "%2e%2e%2fx",
    "..%2fx",
    "..%5cx",
    "%252e%252e/x",
    "%c0%ae%c0%ae/x",
    "%00",
    "a%00b",
    "%u002e%u002e/x",
    "&#46;&#46;/x",
    "\\x2e\\x2e/x",
    "．．/x",
    "．/x",
    "‥/x",
    "…/x",
    "∕etc∕passwd",
    "⁄etc",
    "⧸etc",
    "．．／x",
    "․․/x",
    "﹒﹒/x",
    "~",
    "~root/x",
    "$HOME/x",
    "${HOME}",
    "$(id)",
    "`id`",
    "a;b",
    "a|b",
    "a&b",
    "a>b",
    "a<b",
    "*",
    "?",
    "[a]",
    "{a,b}",
    "!",
    "#",
    "name#1",
    "a@b",
    "a=b",
    "a+b",
    "a,b",
    "'",
    "\"",
    "a'b\"c",
    "-",
    "-rf",
    "--help",
    "CON",
    "NUL",
    "aux.feather",
    "com1.parquet",
    "a:b",
    "a::$DATA",
    "file:",
    "file:x",
    "http:/x",
    "s3:/bucket/x",
    "proc/self/mem",
    "dev/null",
    "etc/passwd",
    "e\u{301}",
    "\u{e9}",
    "I",
    "i",
    "ı",
    "İ",
    "ß",
    "ẞ",
    "数据/表",
    "данные",
    "بيانات",
    "📈",
    "\u{202e}fdp",
    "\u{200b}",
    "\u{feff}x",
    "\u{a0}",
    "a/.flight",
    "a/.flight/staging/x",
    "x/.git/config",
    "flight",
    ".fligh",
    "staging/x",
    "a.feather.parquet",
    "a.csv",
    ".feather",
    "a.FEATHER",
];

/// Names that are refused before anything is touched.
const REFUSED: &[&str] = &[
    "",
    ".",
    "..",
    "/",
    "//",
    "./",
    "../",
    "/.",
    "/..",
    "./x",
    "../x",
    "x/.",
    "x/..",
    "x/./y",
    "x/../y",
    "x/../../y",
    "a/b/../../../y",
    "../../../../../../etc/passwd",
    "..//x",
    "x//y",
    "x///y",
    "x/",
    "x//",
    "/x",
    "//x",
    "///etc/passwd",
    "/etc/passwd",
    "/.flight/entries/x",
    ".flight",
    ".flight/",
    ".flight/x",
    ".flight/staging/x",
    ".flight/entries/x.json",
    ".flights",
    ".FLIGHT/x",
    ".Flight",
    ".flight.feather",
    "\0",
    "a\0",
    "\0a",
    "a\0b",
    "a/\0",
    "a\0/b",
    "x.feather\0.png",
    "\n",
    "a\nb",
    "a\r\nb",
    "\t",
    "\x1b[2J",
    "a\x1b]0;x\x07",
    "\x7f",
    "\u{80}",
    "\u{85}",
    "\u{9b}2J",
    "..\0",
    "../\0",
];

/// Uploads to `name`; the only file that may appear is the one of exactly that name.
fn check(fixture: &Fixture, name: &str, good: bool) {
    let before = fixture.files();
    let result = DatasetName::parse(name).and_then(|_| {
        let stored = put(&fixture.store, request(name, Mode::Create), &[7])?;
        assert_eq!(stored.rows, 1, "{name:?}");
        Ok(())
    });
    let after = fixture.files();
    let new: Vec<_> = after.difference(&before).collect();
    assert!(before.is_subset(&after), "{name:?} removed something");
    match result {
        Ok(()) => {
            let stated = [".feather", ".parquet"].iter().any(|ext| name.ends_with(ext))
                && !name.starts_with('.');
            let file = if stated { name.to_owned() } else { format!("{name}.feather") };
            assert_eq!(new, [&format!("root/{file}")], "{name:?}");
            assert_eq!(fixture.read(name), Ok(vec![7]), "{name:?}");
        }
        Err(error) => {
            assert!(matches!(error, StoreError::BadName { .. }), "{name:?}: {error}");
            assert!(new.is_empty(), "{name:?} left {new:?}");
        }
    }
    assert_eq!(good, !new.is_empty(), "{name:?}");
}

#[test]
fn every_good_name_is_stored_under_itself_and_nowhere_else() {
    let fixture = Fixture::new();
    for name in LITERAL {
        check(&fixture, name, true);
    }
    fixture.store.rescan();
    let listed = fixture.names();
    assert_eq!(listed.len(), LITERAL.len());
    for name in listed {
        assert_eq!(fixture.read(&name), Ok(vec![7]), "{name:?} is fetched as it is listed");
    }
}

#[test]
fn every_bad_name_is_refused_and_leaves_nothing() {
    let fixture = Fixture::new();
    for name in REFUSED {
        check(&fixture, name, false);
    }
    assert!(LITERAL.len() + REFUSED.len() >= 150);
}

#[test]
fn a_name_at_the_length_limit_is_stored() {
    let fixture = Fixture::new();
    check(&fixture, &"x".repeat(255 - ".feather".len()), true);
    check(&fixture, &"x".repeat(256 - ".feather".len()), false);
    check(&fixture, &format!("{}/x", "d".repeat(255)), true);
    check(&fixture, &["d"; 64].join("/"), true);
    check(&fixture, &["d"; 65].join("/"), false);
    let long = ["d".repeat(255).as_str(); 15].join("/") + "/" + &"x".repeat(247);
    check(&fixture, &long, true);
    check(&fixture, &["d".repeat(255).as_str(); 16].join("/"), false);
}

#[test]
fn a_name_that_is_too_long_for_any_file_is_not_found() {
    let fixture = Fixture::new();
    let missing = |name: &str| {
        let error = fixture.read(name).unwrap_err();
        assert!(error.starts_with("there is no dataset"), "{error}");
    };
    missing(&"x".repeat(255));
    missing(&["x"; 64].join("/"));
    missing("a");
    missing("a/b/c.feather");
}
