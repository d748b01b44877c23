//! The JSON body of the action that gives a ticket to change a dataset.

use serde::{Deserialize, Serialize};

use super::{DatasetPath, ProtocolError, in_range, parse_json};

/// Binary metadata of DoPut and of the action that deletes: the ticket that permits it.
pub const TICKET_HEADER: &str = "x-flight-ticket-bin";

/// What a ticket is to permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IssueMode {
    Write,
    Delete,
}

/// Body of [`super::actions::TICKET_ISSUE`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssueRequest {
    /// As the upload or the deletion will name it.
    pub dataset: DatasetPath,
    pub mode: IssueMode,
    /// Bytes of the upload's messages at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Whether the ticket is good for one use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once: Option<bool>,
}

impl IssueRequest {
    /// # Errors
    ///
    /// What is not JSON of this form, naming the key.
    pub fn parse(body: &[u8]) -> Result<Self, ProtocolError> {
        let request: Self = parse_json(body)?;
        in_range("bytes", request.bytes.unwrap_or(1), 1, u64::MAX)?;
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_what_the_ticket_is_for() {
        let all = r#"{"dataset":"a/b","mode":"write","bytes":7,"once":true}"#;
        let request = IssueRequest::parse(all.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&request).unwrap(), all);
        for (body, expected) in [
            (r#"{"dataset":"a"}"#, "missing field `mode`"),
            (r#"{"dataset":"a","mode":"read"}"#, "unknown variant `read`"),
            (r#"{"dataset":"a","mode":"write","bytes":0}"#, "bytes is 0"),
            (r#"{"dataset":"a","mode":"write","ttl":1}"#, "unknown field `ttl`"),
        ] {
            let error = IssueRequest::parse(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{body}: {error}");
        }
    }
}
