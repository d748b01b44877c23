//! One table from errors to gRPC codes, and one writer of trailers.
//!
//! A client learns a code and a sentence, never a path of the server.

use flight_files::FileError;
use flight_net::Body;
use flight_store::{DatasetName, StoreError};
use flight_wire::guard::GuardError;
use flight_wire::protocol::ProtocolError;
use flight_wire::{DecodeError, EncodeError, ReceiveError};
use http::{HeaderMap, Response};
use tonic::{Code, Status};

/// An error as a client sees it.
pub(super) trait IntoStatus {
    fn into_status(self) -> Status;
}

impl IntoStatus for StoreError {
    fn into_status(self) -> Status {
        let code = match &self {
            Self::NotFound { .. } => Code::NotFound,
            Self::AlreadyExists { .. } => Code::AlreadyExists,
            Self::Ambiguous { .. } | Self::BadName { .. } | Self::BadUpload { .. } => {
                Code::InvalidArgument
            }
            Self::Conflict { .. } => Code::FailedPrecondition,
            Self::File { cause, .. } => file_code(cause),
            Self::Full { .. } => Code::ResourceExhausted,
            Self::ReadOnly { .. } => Code::PermissionDenied,
            Self::Io { .. } | Self::Folder { .. } => Code::Internal,
        };
        Status::new(code, self.to_string())
    }
}

impl IntoStatus for FileError {
    fn into_status(self) -> Status {
        Status::new(file_code(&self), self.to_string())
    }
}

/// A failure while the dataset `name` is read.
pub(super) fn of_file(name: &DatasetName, error: &FileError) -> Status {
    Status::new(file_code(error), format!("dataset {:?}: {error}", name.as_str()))
}

fn file_code(error: &FileError) -> Code {
    match error {
        // Bytes that cannot be read are as lost as bytes that changed.
        FileError::Io(_) | FileError::Damaged { .. } | FileError::Changed => Code::DataLoss,
        FileError::FeatherV1 | FileError::Encrypted => Code::FailedPrecondition,
        FileError::NotSupported { .. } => Code::Unimplemented,
        FileError::TooLarge { .. } => Code::ResourceExhausted,
        FileError::Invalid { .. } => Code::InvalidArgument,
    }
}

impl IntoStatus for ProtocolError {
    fn into_status(self) -> Status {
        Status::invalid_argument(self.to_string())
    }
}

impl IntoStatus for DecodeError {
    fn into_status(self) -> Status {
        let code = match &self {
            Self::Guard(GuardError::Limit { .. }) => Code::ResourceExhausted,
            Self::UnionNulls { .. } => Code::Unimplemented,
            Self::Guard(_)
            | Self::SecondSchema
            | Self::NoSchema(_)
            | Self::Malformed(_)
            | Self::Panicked => Code::InvalidArgument,
        };
        Status::new(code, self.to_string())
    }
}

impl IntoStatus for ReceiveError {
    fn into_status(self) -> Status {
        let code = match &self {
            Self::TooLarge { .. } | Self::FieldTooLarge { .. } | Self::NoMemory { .. } => {
                Code::ResourceExhausted
            }
            Self::Compressed => Code::Unimplemented,
            Self::Malformed(_) => Code::InvalidArgument,
            Self::Cut => Code::Cancelled,
        };
        Status::new(code, self.to_string())
    }
}

impl IntoStatus for EncodeError {
    fn into_status(self) -> Status {
        let code = match &self {
            Self::Arrow(_) => Code::Unimplemented,
            Self::TooLarge { .. } => Code::ResourceExhausted,
            Self::Inconsistent => Code::Internal,
        };
        Status::new(code, self.to_string())
    }
}

/// An answer that is an error alone.
pub(super) fn response(status: &Status) -> Response<Body> {
    status.clone().into_http::<tonic::body::Body>().map(Body::from)
}

/// The answer's head when frames follow.
pub(super) fn streaming(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(
        http::header::CONTENT_TYPE,
        http::header::HeaderValue::from_static("application/grpc"),
    );
    response
}

/// The trailers that end a stream.
pub(super) fn trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(2);
    if status.add_header(&mut trailers).is_err() {
        // A message that no header can carry; the code alone says what matters.
        trailers.clear();
        let code = http::HeaderValue::from(status.code() as i32);
        trailers.insert("grpc-status", code);
    }
    trailers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: impl IntoStatus, code: Code) {
        let status = error.into_status();
        assert_eq!(status.code(), code, "{status:?}");
        assert!(status.message().len() < 1024);
        assert_eq!(trailers(&status)["grpc-status"], (code as i32).to_string().as_str());
    }

    #[test]
    fn the_code_says_whose_fault_it_is() {
        let name = || "a".to_owned();
        check(StoreError::NotFound { name: name() }, Code::NotFound);
        check(StoreError::AlreadyExists { name: name() }, Code::AlreadyExists);
        check(StoreError::ReadOnly { name: name() }, Code::PermissionDenied);
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        check(StoreError::Full { name: name(), cause: full }, Code::ResourceExhausted);
        check(StoreError::File { name: name(), cause: FileError::Changed }, Code::DataLoss);
        check(FileError::FeatherV1, Code::FailedPrecondition);
        check(ProtocolError::Ticket, Code::InvalidArgument);
        check(DecodeError::SecondSchema, Code::InvalidArgument);
        check(ReceiveError::TooLarge { bytes: 2, max: 1 }, Code::ResourceExhausted);
        check(EncodeError::Inconsistent, Code::Internal);
    }
}
