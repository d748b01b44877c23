//! What to read, or where to write: the value of `--source`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use flight_wire::protocol::PutRequest;

use crate::limits::SOURCE_CHARS_SHOWN;

/// How the server is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A PATH descriptor: name components.
    Path(Vec<String>),
    /// A CMD descriptor, as it is.
    Command(Text),
    /// A query that Flight SQL packs into a CMD descriptor.
    Sql(Text),
    /// A ticket for DoGet, without GetFlightInfo.
    Ticket(Text),
    /// Arrow's perf protocol.
    Perf,
}

/// Bytes given at the command line or in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Text {
    Inline(String),
    File(PathBuf),
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |why| {
            format!("'{text}' {why}; write path:a/b, cmd:TEXT, sql:QUERY, ticket:TEXT or perf")
        };
        if text == "perf" {
            return Ok(Self::Perf);
        }
        let (kind, rest) =
            text.split_once(':').ok_or_else(|| refused("names no kind of source"))?;
        if rest.is_empty() {
            return Err(refused("is empty after its colon"));
        }
        match kind {
            "path" => {
                let components: Vec<String> = rest.split('/').map(str::to_owned).collect();
                if components.iter().any(String::is_empty) {
                    return Err(refused("has an empty component"));
                }
                Ok(Self::Path(components))
            }
            "cmd" => Ok(Self::Command(Text::of(rest))),
            "sql" => query(rest),
            "ticket" => Ok(Self::Ticket(Text::of(rest))),
            _ => Err(refused("names no kind of source")),
        }
    }
}

/// The value of `--sql`: a query, or `@FILE`.
pub(super) fn query(text: &str) -> Result<Source, String> {
    if text.trim().is_empty() {
        return Err("the query is empty; write for example 'select * from trips'".to_owned());
    }
    Ok(Source::Sql(Text::of(text)))
}

/// A source in a sentence or a heading: on one line, and not too long for one.
pub(crate) fn named(source: &str) -> String {
    let words: Vec<&str> = source.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(SOURCE_CHARS_SHOWN) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

impl Text {
    fn of(text: &str) -> Self {
        match text.strip_prefix('@') {
            Some(file) => Self::File(PathBuf::from(file)),
            None => Self::Inline(text.to_owned()),
        }
    }
}

impl Source {
    /// The name of what an upload to it stores, if it says so: a path does, and a command in
    /// flight-server's own form.
    pub(crate) fn stored_as(&self) -> Option<Vec<String>> {
        match self {
            Self::Path(components) => Some(components.clone()),
            Self::Command(Text::Inline(text)) => {
                let request = PutRequest::parse(text.as_bytes()).ok()?;
                Some(request.dataset.components().into_iter().map(str::to_owned).collect())
            }
            Self::Command(Text::File(_)) | Self::Sql(_) | Self::Ticket(_) | Self::Perf => None,
        }
    }

    /// As a sentence names it.
    pub(crate) fn named(&self) -> String {
        named(&self.to_string())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(components) => write!(f, "path:{}", components.join("/")),
            Self::Command(text) => write!(f, "cmd:{text}"),
            Self::Sql(text) => write!(f, "sql:{text}"),
            // A ticket may grant access to whoever holds it.
            Self::Ticket(Text::Inline(_)) => write!(f, "ticket:<redacted>"),
            Self::Ticket(text) => write!(f, "ticket:{text}"),
            Self::Perf => write!(f, "perf"),
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(text) => write!(f, "{text}"),
            Self::File(path) => write!(f, "@{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_read_back_as_they_are_written() {
        check("path:a/b", "path:a/b");
        check("path:données 2024", "path:données 2024");
        check(r#"cmd:{"dataset":"a:b"}"#, r#"cmd:{"dataset":"a:b"}"#);
        check("cmd:@query.json", "cmd:@query.json");
        check("sql:select 'a:b'", "sql:select 'a:b'");
        check("sql:@query.sql", "sql:@query.sql");
        check("perf", "perf");
    }

    #[test]
    fn a_ticket_is_not_repeated_in_reports() {
        check("ticket:opaque", "ticket:<redacted>");
        check("ticket:@t.bin", "ticket:@t.bin");
    }

    #[test]
    fn what_names_no_source_is_refused() {
        let help = "; write path:a/b, cmd:TEXT, sql:QUERY, ticket:TEXT or perf";
        check("taxi", &format!("'taxi' names no kind of source{help}"));
        check("select:1", &format!("'select:1' names no kind of source{help}"));
        check("sql: ", "the query is empty; write for example 'select * from trips'");
        check("path:", &format!("'path:' is empty after its colon{help}"));
        check("path:a//b", &format!("'path:a//b' has an empty component{help}"));
    }

    #[test]
    fn a_long_query_is_one_short_line_in_a_sentence() {
        let check = |text: &str, want: &str| assert_eq!(named(text), want);
        check("sql:select\n\ta,  b\r\nfrom t", "sql:select a, b from t");
        let many = "ä".repeat(SOURCE_CHARS_SHOWN);
        check(&many, &many);
        check(&format!("{many}ä"), &format!("{many}…"));
    }

    #[test]
    fn a_path_and_a_command_of_ours_name_what_they_store() {
        let check = |text: &str, want: Option<&str>| {
            let source = Source::from_str(text).expect("a source");
            assert_eq!(source.stored_as().map(|name| name.join("/")).as_deref(), want, "{text}");
        };
        check("path:a/b", Some("a/b"));
        check(r#"cmd:{"dataset":"a/b","mode":"replace"}"#, Some("a/b"));
        check(r#"cmd:{"dataset":["a","b"]}"#, Some("a/b"));
        check("cmd:select 1", None);
        check(r#"cmd:{"table":"a"}"#, None);
        check("cmd:@request.json", None);
        check("perf", None);
    }

    fn check(text: &str, want: &str) {
        let got = Source::from_str(text).map_or_else(|error| error, |s| s.to_string());
        assert_eq!(got, want);
    }
}
