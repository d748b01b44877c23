//! The JSON body of the action that deletes a dataset.

use serde::{Deserialize, Serialize};

use super::{DatasetPath, ProtocolError, parse_json};

/// Body of [`super::actions::DELETE_DATASET`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeleteRequest {
    pub dataset: DatasetPath,
}

impl DeleteRequest {
    /// # Errors
    ///
    /// What is not JSON of this form, naming the key.
    pub fn parse(body: &[u8]) -> Result<Self, ProtocolError> {
        parse_json(body)
    }
}
