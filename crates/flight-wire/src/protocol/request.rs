//! The JSON command that asks for a dataset, in `FlightDescriptor.cmd` of GetFlightInfo.

use serde::{Deserialize, Serialize};

use super::{ProtocolError, in_range, parse_json};
use crate::encoder::Compression;
use crate::limits::{ENDPOINTS_MAX, SEND_MESSAGE_BYTES_MAX, SEND_MESSAGE_BYTES_MIN};

/// A dataset's name: one string with slashes, or its components.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DatasetPath {
    Joined(String),
    Components(Vec<String>),
}

impl DatasetPath {
    /// The components; a lone string is split at its slashes.
    pub fn components(&self) -> Vec<&str> {
        match self {
            Self::Joined(name) => name.split('/').collect(),
            Self::Components(names) => names.iter().map(String::as_str).collect(),
        }
    }
}

/// A column by its name, or by its index where a name stands twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ColumnRef {
    Name(String),
    Index(usize),
}

/// Compression of the Arrow buffers on the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireCompression {
    #[default]
    None,
    Lz4,
    Zstd,
}

impl From<WireCompression> for Compression {
    fn from(value: WireCompression) -> Self {
        match value {
            WireCompression::None => Self::None,
            WireCompression::Lz4 => Self::Lz4,
            WireCompression::Zstd => Self::Zstd,
        }
    }
}

/// Checksums that the server adds to each message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChecksumKind {
    /// [`crate::Checksum`] in `app_metadata`.
    Xxh3,
}

/// What to read of a dataset and how to send it. Every key but `dataset` may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GetRequest {
    pub dataset: DatasetPath,
    /// Columns in the order wanted; all when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<ColumnRef>>,
    /// Rows to skip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Rows to send at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Rows of a message at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_rows: Option<u64>,
    /// Bytes of a message at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<WireCompression>,
    /// Row ranges that can be read side by side, each an endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoints: Option<u64>,
    /// Whether the endpoints' rows joined in their order are the dataset's; `true` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordered: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<ChecksumKind>,
}

impl GetRequest {
    /// A request for all of a dataset, as a PATH descriptor makes it.
    pub fn whole(components: Vec<String>) -> Self {
        Self {
            dataset: DatasetPath::Components(components),
            columns: None,
            offset: None,
            limit: None,
            batch_rows: None,
            message_bytes: None,
            compression: None,
            endpoints: None,
            ordered: None,
            checksum: None,
        }
    }

    /// Parses and checks a JSON command.
    ///
    /// # Errors
    ///
    /// What is not JSON of this form, naming the key; a number outside its limits.
    pub fn parse(command: &[u8]) -> Result<Self, ProtocolError> {
        let request: Self = parse_json(command)?;
        let (min, max) = (SEND_MESSAGE_BYTES_MIN as u64, SEND_MESSAGE_BYTES_MAX as u64);
        in_range("message_bytes", request.message_bytes.unwrap_or(min), min, max)?;
        in_range("batch_rows", request.batch_rows.unwrap_or(1), 1, u64::from(u32::MAX))?;
        in_range("endpoints", request.endpoints.unwrap_or(1), 1, ENDPOINTS_MAX as u64)?;
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, answer: &str) {
        let text = match GetRequest::parse(command.as_bytes()) {
            Ok(request) => serde_json::to_string(&request).unwrap(),
            Err(error) => error.to_string(),
        };
        assert!(text.contains(answer), "{command}: {text}");
    }

    #[test]
    fn a_command_is_read_with_every_key() {
        let all = r#"{"dataset":["a","b"],"columns":["x",2],"offset":5,"limit":7,"batch_rows":9,"message_bytes":65536,"compression":"zstd","endpoints":3,"ordered":true,"checksum":"xxh3"}"#;
        check(all, all);
        check(r#"{"dataset":"a/b"}"#, r#"{"dataset":"a/b"}"#);
    }

    #[test]
    fn an_unknown_key_is_named() {
        check(r#"{"dataset":"a","colums":[]}"#, "unknown field `colums`");
        check(r#"{"columns":[]}"#, "missing field `dataset`");
        check("{", "EOF");
    }

    #[test]
    fn numbers_outside_their_limits_are_refused_with_both() {
        check(
            r#"{"dataset":"a","message_bytes":1}"#,
            "message_bytes is 1; it must be between 16384",
        );
        check(r#"{"dataset":"a","endpoints":0}"#, "between 1 and 1024");
        check(r#"{"dataset":"a","batch_rows":0}"#, "batch_rows is 0");
        check(r#"{"dataset":"a","offset":-1}"#, "invalid value");
        check(r#"{"dataset":"a","compression":"brotli"}"#, "unknown variant `brotli`");
    }

    #[test]
    fn a_name_with_slashes_is_its_components() {
        assert_eq!(DatasetPath::Joined("a/b".into()).components(), ["a", "b"]);
        assert_eq!(DatasetPath::Components(vec!["a/b".into()]).components(), ["a/b"]);
    }
}
