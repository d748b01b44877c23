//! Escaped text, and how wide it will be.

/// Pixels of a character of the charts' 12-pixel font, on average.
const CHAR_PX: f64 = 6.6;
/// Pixels of a character that is not Latin, which may be twice as wide.
const WIDE_CHAR_PX: f64 = 12.0;

/// `text` for an HTML or SVG element or a quoted attribute.
///
/// Control characters and those that turn the direction of writing become U+FFFD: a name cannot
/// disguise what stands around it.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(letter),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => escaped.push('\u{fffd}'),
            control if control.is_control() => escaped.push('\u{fffd}'),
            plain => escaped.push(plain),
        }
    }
    escaped
}

/// About how many pixels `text` takes.
pub(crate) fn width_px(text: &str) -> f64 {
    text.chars().map(char_px).sum()
}

/// As much of `text` as `room_px` holds, with an ellipsis where some is cut off.
pub(crate) fn fit(text: &str, room_px: f64) -> String {
    if width_px(text) <= room_px {
        return text.to_owned();
    }
    let mut left_px = room_px - CHAR_PX;
    let whole = text.chars().take_while(|letter| {
        left_px -= char_px(*letter);
        left_px >= 0.0
    });
    whole.chain(['…']).collect()
}

fn char_px(letter: char) -> f64 {
    if letter < '\u{500}' { CHAR_PX } else { WIDE_CHAR_PX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_name_is_only_text() {
        assert_eq!(escape("<b a=\"1\" c='2'>&"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
    }

    #[test]
    fn characters_that_disguise_a_name_are_replaced() {
        assert_eq!(escape("a\0b\u{202e}c\u{1b}"), "a\u{fffd}b\u{fffd}c\u{fffd}");
    }

    #[test]
    fn a_name_longer_than_its_room_ends_in_an_ellipsis() {
        assert_eq!(fit("abcdef", 40.0), "abcdef");
        assert_eq!(fit("abcdefghij", 40.0), "abcde…");
        assert_eq!(fit("日本語日本語", 40.0), "日本…");
    }
}
