//! What a descriptor asks for.

use arrow_flight::FlightDescriptor;
use arrow_flight::flight_descriptor::DescriptorType;
use flight_wire::protocol::{GetRequest, Perf, PutRequest};
use tonic::Status;

use super::status::IntoStatus;

/// What a descriptor of GetFlightInfo, GetSchema or PollFlightInfo asks for.
#[derive(Debug)]
pub(super) enum GetCommand {
    Dataset(GetRequest),
    Perf(Perf),
}

/// What the descriptor of an upload asks for.
#[derive(Debug)]
pub(super) enum PutCommand {
    Dataset(PutRequest),
    /// Arrow's benchmark: counted and dropped.
    Perf,
}

const FLIGHT_SQL: &[u8] = b"type.googleapis.com/arrow.flight.protocol.sql.";

impl GetCommand {
    /// # Errors
    ///
    /// `UNIMPLEMENTED` for Flight SQL, `INVALID_ARGUMENT` for what is not understood.
    pub(super) fn of(descriptor: &FlightDescriptor, perf: bool) -> Result<Self, Status> {
        match kind(descriptor)? {
            Kind::Path(path) => Ok(Self::Dataset(GetRequest::whole(path))),
            Kind::Json(command) => {
                let request = GetRequest::parse(command).map_err(IntoStatus::into_status)?;
                Ok(Self::Dataset(request))
            }
            Kind::Other(command) if perf => {
                Perf::parse(command).map(Self::Perf).map_err(IntoStatus::into_status)
            }
            Kind::Other(_) => Err(unknown_command()),
        }
    }
}

impl PutCommand {
    /// # Errors
    ///
    /// As [`GetCommand::of`].
    pub(super) fn of(descriptor: &FlightDescriptor, perf: bool) -> Result<Self, Status> {
        match kind(descriptor)? {
            Kind::Path(path) => Ok(Self::Dataset(PutRequest::create(path))),
            Kind::Json(command) => {
                let request = PutRequest::parse(command).map_err(IntoStatus::into_status)?;
                Ok(Self::Dataset(request))
            }
            Kind::Other([]) if perf => Ok(Self::Perf),
            Kind::Other(_) => Err(unknown_command()),
        }
    }
}

enum Kind<'a> {
    Path(Vec<String>),
    Json(&'a [u8]),
    Other(&'a [u8]),
}

fn kind(descriptor: &FlightDescriptor) -> Result<Kind<'_>, Status> {
    match descriptor.r#type() {
        DescriptorType::Path => Ok(Kind::Path(descriptor.path.clone())),
        DescriptorType::Cmd => {
            let command = &descriptor.cmd[..];
            // Any { type_url = 1 }: a tag, a length of one or two bytes, the text.
            let head = &command[..command.len().min(3 + FLIGHT_SQL.len())];
            if command.first() == Some(&0x0a)
                && head.windows(FLIGHT_SQL.len()).any(|w| w == FLIGHT_SQL)
            {
                return Err(Status::unimplemented(
                    "this server answers no Flight SQL; ask for a dataset by PATH or by a JSON \
                     command such as {\"dataset\":\"a/b\"}",
                ));
            }
            if command.trim_ascii_start().first() == Some(&b'{') {
                return Ok(Kind::Json(command));
            }
            Ok(Kind::Other(command))
        }
        DescriptorType::Unknown => {
            Err(Status::invalid_argument("the descriptor has no type; set PATH or CMD"))
        }
    }
}

fn unknown_command() -> Status {
    Status::invalid_argument(
        "the command is not understood; ask for a dataset by PATH or by a JSON command such as \
         {\"dataset\":\"a/b\"}",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: impl Into<bytes::Bytes>, perf: bool, answer: &str) {
        let descriptor = FlightDescriptor::new_cmd(command);
        let text = format!("{:?}", GetCommand::of(&descriptor, perf));
        assert!(text.contains(answer), "{text}");
    }

    #[test]
    fn a_command_is_json_or_perf_or_refused() {
        check(r#" {"dataset":"a"}"#, false, "Ok(Dataset");
        check(r#"{"datset":"a"}"#, false, "unknown field `datset`");
        check(vec![0x10, 2], true, "Ok(Perf");
        check(vec![0x10, 2], false, "the command is not understood");
        check("x", true, "cannot parse protobuf");
    }

    #[test]
    fn flight_sql_is_told_that_there_is_none() {
        let any = [&[0x0a, 60][..], FLIGHT_SQL, b"CommandStatementQuery"].concat();
        check(any, true, "no Flight SQL");
    }

    #[test]
    fn a_descriptor_without_type_is_refused() {
        let text = format!("{:?}", PutCommand::of(&FlightDescriptor::default(), true));
        assert!(text.contains("set PATH or CMD"), "{text}");
    }
}
