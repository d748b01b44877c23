//! What every chart must be, and how tests look into one.

use crate::Caption;

/// A caption that breaks out of whatever does not escape it.
pub(crate) fn hostile_caption() -> Caption<'static> {
    Caption { name: "a\"b", title: "<script>alert(1)</script>", note: "'\"><b>&" }
}

/// Names and shape that hold for every chart drawn under [`hostile_caption`].
pub(crate) fn check(html: &str) {
    assert!(html.starts_with("<figure class=\"chart "), "{html}");
    assert!(html.contains("data-chart=\"a&quot;b\""), "{html}");
    assert!(html.contains("<figcaption><strong>&lt;script&gt;"), "{html}");
    assert!(html.contains("&#39;&quot;&gt;&lt;b&gt;&amp;"), "{html}");
    for bad in ["<script", "<b>", "NaN", "inf\"", "inf,", "#0", "rgb("] {
        assert!(!html.contains(bad), "{bad} in {html}");
    }
    for element in ["figure", "svg", "g", "text", "title", "desc", "button"] {
        let opened = count(html, &format!("<{element} ")) + count(html, &format!("<{element}>"));
        assert_eq!(opened, count(html, &format!("</{element}>")), "{element} in {html}");
    }
    if html.contains("No data") {
        return;
    }
    assert_eq!(count(html, "<svg role=\"img\" viewBox=\"0 0 720 "), 1, "{html}");
    assert_eq!(count(html, "<title>&lt;script&gt;"), 1, "{html}");
    assert!(desc(html).len() > 10, "{html}");
}

pub(crate) fn count(html: &str, part: &str) -> usize {
    html.matches(part).count()
}

/// The words of the chart, with plain spaces.
pub(crate) fn desc(html: &str) -> String {
    let (_, rest) = html.split_once("<desc>").expect("a chart has words");
    let (words, _) = rest.split_once("</desc>").expect("words end");
    words.replace('\u{202f}', " ")
}

/// The value of the first attribute of this name within the drawing.
pub(crate) fn attribute<'a>(html: &'a str, name: &str) -> &'a str {
    let (_, drawing) = html.split_once("</desc>").expect("a chart has a drawing");
    let (_, rest) = drawing.split_once(&format!(" {name}=\"")).expect("the attribute is there");
    rest.split('"').next().expect("a value ends")
}
