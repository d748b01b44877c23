//! The JSON command of an upload and the summary that acknowledges it.

use serde::{Deserialize, Serialize};

use super::{DatasetPath, ProtocolError, parse_json};
use crate::limits::UPLOAD_ID_BYTES_MAX;

/// What happens where the dataset exists already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PutMode {
    /// The upload is refused.
    #[default]
    Create,
    /// The upload takes its place in one step.
    Replace,
}

/// The container that an upload is stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreFormat {
    Feather,
    Parquet,
}

/// The compression of what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreCodec {
    None,
    Snappy,
    Gzip,
    Lz4,
    Zstd,
    Brotli,
}

/// Where an upload goes, in the descriptor of its first message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutRequest {
    pub dataset: DatasetPath,
    #[serde(default)]
    pub mode: PutMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<StoreFormat>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codec: Option<StoreCodec>,
    /// Chosen by the client: the same upload sent again after its answer was lost is stored once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_id: Option<String>,
}

impl PutRequest {
    /// An upload to a new dataset, as a PATH descriptor makes it.
    pub fn create(components: Vec<String>) -> Self {
        Self {
            dataset: DatasetPath::Components(components),
            mode: PutMode::Create,
            format: None,
            codec: None,
            upload_id: None,
        }
    }

    /// Parses and checks a JSON command.
    ///
    /// # Errors
    ///
    /// What is not JSON of this form, naming the key; an upload id of another form.
    pub fn parse(command: &[u8]) -> Result<Self, ProtocolError> {
        let request: Self = parse_json(command)?;
        if let Some(id) = &request.upload_id {
            let printable = id.bytes().all(|b| b.is_ascii_graphic());
            if id.is_empty() || id.len() > UPLOAD_ID_BYTES_MAX || !printable {
                return Err(ProtocolError::UploadId { max: UPLOAD_ID_BYTES_MAX });
            }
        }
        Ok(request)
    }
}

/// The last `PutResult.app_metadata` of an upload: sent once it is on stable storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutSummary {
    pub rows: u64,
    /// Bytes of the stored file.
    pub bytes: u64,
    /// The dataset's version, as in tickets.
    pub version: String,
}

impl PutSummary {
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("numbers and a string are always JSON")
    }

    /// Parses what [`to_json`](Self::to_json) wrote; `None` for other metadata.
    pub fn parse(app_metadata: &[u8]) -> Option<Self> {
        serde_json::from_slice(app_metadata).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, answer: &str) {
        let text = match PutRequest::parse(command.as_bytes()) {
            Ok(request) => serde_json::to_string(&request).unwrap(),
            Err(error) => error.to_string(),
        };
        assert!(text.contains(answer), "{command}: {text}");
    }

    #[test]
    fn an_upload_creates_unless_it_says_replace() {
        check(r#"{"dataset":"a"}"#, r#""mode":"create""#);
        check(r#"{"dataset":"a","mode":"replace"}"#, r#""mode":"replace""#);
        check(r#"{"dataset":"a","mode":"append"}"#, "unknown variant `append`");
    }

    #[test]
    fn an_upload_id_is_short_and_printable() {
        check(r#"{"dataset":"a","upload_id":"7f3e-1"}"#, "7f3e-1");
        for bad in ["", "a b", "\\u0000", &"x".repeat(129)] {
            check(&format!(r#"{{"dataset":"a","upload_id":"{bad}"}}"#), "1 to 128 printable");
        }
    }
}
