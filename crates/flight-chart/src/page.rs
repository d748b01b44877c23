//! The one-file report, which carries the data that it shows.

use crate::text::escape;

/// Begins the element that holds the data. No escaped text can contain it.
const DATA_OPEN: &str = "<script type=\"application/json\" id=\"flight-bench-run\">";
const DATA_CLOSE: &str = "</script>";

/// Characters by which data could end the element that holds them, or that are line ends to
/// JavaScript and not to JSON; and how JSON writes them inside its strings, where alone they occur.
const ESCAPES: [(char, &str); 5] = [
    ('<', "\\u003c"),
    ('>', "\\u003e"),
    ('&', "\\u0026"),
    ('\u{2028}', "\\u2028"),
    ('\u{2029}', "\\u2029"),
];

/// A part of the page.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a> {
    pub heading: &'a str,
    /// Figures and tables of this crate: HTML that is taken as it is.
    pub html: &'a str,
}

/// A whole document in one file that asks no network for anything.
///
/// `embedded_json` is one valid JSON text, which [`embedded`] reads back. `style` and `script`
/// ([`STYLE`](crate::STYLE) and [`SCRIPT`](crate::SCRIPT), or more) are taken as they are.
pub fn page(
    title: &str,
    sections: &[Section<'_>],
    embedded_json: &str,
    style: &str,
    script: &str,
) -> String {
    let title = escape(title);
    let section = |section: &Section<'_>| {
        let (heading, html) = (escape(section.heading), section.html);
        format!("<section>\n<h2>{heading}</h2>\n{html}</section>\n")
    };
    let body: String = sections.iter().map(section).collect();
    let data = armoured(embedded_json);
    // The policy holds the browser to it: whatever slipped into the page could fetch nothing.
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n{body}</main>\n{DATA_OPEN}{data}{DATA_CLOSE}\n\
         <script>\n{script}</script>\n</body>\n</html>\n"
    )
}

/// The JSON that [`page`] was given; `None` if `html` is no such page.
///
/// It comes back byte for byte, unless it already spelled one of `<`, `>`, `&`, U+2028 or U+2029
/// as a `\u` escape, which writers of JSON do not: that comes back as the character, the same value.
pub fn embedded(html: &str) -> Option<String> {
    let (_, rest) = html.split_once(DATA_OPEN)?;
    let (data, _) = rest.split_once(DATA_CLOSE)?;
    Some(unarmoured(data))
}

fn armoured(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for letter in json.chars() {
        match ESCAPES.iter().find(|(escaped, _)| *escaped == letter) {
            Some((_, escape)) => safe.push_str(escape),
            None => safe.push(letter),
        }
    }
    safe
}

fn unarmoured(mut safe: &str) -> String {
    let mut json = String::with_capacity(safe.len());
    while let Some(at) = safe.find('\\') {
        json.push_str(&safe[..at]);
        safe = &safe[at..];
        if let Some((letter, escape)) = ESCAPES.iter().find(|(_, e)| safe.starts_with(e)) {
            json.push(*letter);
            safe = &safe[escape.len()..];
            continue;
        }
        // Another escape is copied whole: the second backslash of `\\u003c` begins none.
        let length = 1 + safe[1..].chars().next().map_or(0, char::len_utf8);
        json.push_str(&safe[..length]);
        safe = &safe[length..];
    }
    json.push_str(safe);
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SCRIPT, STYLE};

    /// The JSON survives, and the page still has the two scripts that it was made with.
    fn check(json: &str) {
        let section = Section { heading: DATA_OPEN, html: "<p>x</p>\n" };
        let html = page(DATA_OPEN, &[section], json, STYLE, SCRIPT);
        assert_eq!(embedded(&html).as_deref(), Some(json));
        assert_eq!(html.matches("<script").count(), 2, "{html}");
        assert_eq!(html.matches("</script").count(), 2, "{html}");
        assert_eq!(html.matches("<!--").count(), 0, "{html}");
    }

    #[test]
    fn plain_json_comes_back() {
        check(r#"{"a":[1,2.5e-3,null,true],"b":"µs"}"#);
        check("");
    }

    #[test]
    fn json_cannot_break_out_of_its_element() {
        check(r#"{"a":"</script><script>alert(1)</script>"}"#);
        check(r#"{"a":"<!--<script>","b":"-->&lt;&amp;"}"#);
        check("{\"a\":\"\u{2028}\u{2029}\"}");
    }

    #[test]
    fn escapes_and_backslashes_of_the_json_stay_as_they_are() {
        check(r#"{"a":"\\","b":"\"\n\u00e9\\u003c\\\\<"}"#);
        check(r#"{"path":"C:\\u0026\\<x>"}"#);
        check(r#"{"\\":"\\\\u2028"}"#);
    }

    #[test]
    fn an_escape_that_was_there_before_comes_back_as_its_character() {
        let html = page("t", &[], r#"{"a":"\u003cb"}"#, "", "");
        assert_eq!(embedded(&html).as_deref(), Some(r#"{"a":"<b"}"#));
    }

    #[test]
    fn a_page_of_another_kind_has_no_data() {
        assert_eq!(embedded("<!doctype html><p>"), None);
        assert_eq!(embedded(DATA_OPEN), None);
    }

    #[test]
    fn the_page_is_one_file() {
        let html = page("a<b", &[], "{}", STYLE, SCRIPT);
        assert!(html.starts_with("<!doctype html>\n"), "{html}");
        assert!(html.contains("<title>a&lt;b</title>"), "{html}");
        for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "fetch("] {
            assert!(!html.contains(outside), "{outside} in {html}");
        }
    }
}
