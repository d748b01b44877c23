//! Calls outside the measured window, each with a time-out: planning, probing, deleting.

use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::{Action, Criteria, Empty, FlightDescriptor, FlightInfo};
use flight_net::Endpoint;
use flight_net::client::{ConnectError, Connection, Connector};
use flight_wire::protocol::actions::DELETE_DATASET;
use tokio_stream::StreamExt;
use tonic::{Code, Status};

use super::{Capability, Caps};
use crate::exit::Stop;
use crate::limits;
use crate::load::Request;
use crate::record::Failure;

/// A connection for calls that are not measured.
pub(crate) struct Control {
    client: FlightServiceClient<Connection>,
    connection: Connection,
    way_out: WayOut,
    /// Whether the server has answered a call, be it with a refusal.
    answered: bool,
    caps: Caps,
}

/// What to try when a connection breaks as soon as it is used.
struct WayOut {
    sentence: &'static str,
    /// What it names; a message that does so needs no more advice.
    names: &'static str,
}

impl Control {
    /// Connects; the first sign of whether the target is there at all.
    ///
    /// # Errors
    ///
    /// With exit code 5 where nothing answers, with 1 where TLS was refused by either side.
    pub(crate) async fn connect(connector: &Connector) -> Result<Self, Stop> {
        let connection = connector.connect().await.map_err(|error| match error {
            ConnectError::Tls { .. } | ConnectError::NoTls { .. } => Stop::failed(error),
            ConnectError::Unreachable { .. }
            | ConnectError::Timeout { .. }
            | ConnectError::Unsettled { .. }
            | ConnectError::Http2 { .. } => Stop::unreachable(error),
        })?;
        let client = FlightServiceClient::new(connection.clone())
            .max_decoding_message_size(limits::CONTROL_BYTES_MAX);
        let way_out = WayOut::of(connector.endpoint());
        Ok(Self { client, connection, way_out, answered: false, caps: Caps::default() })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// What the server has shown that it can do.
    pub(crate) fn caps(&self) -> Caps {
        self.caps
    }

    /// Asks what `descriptor` stands for; `capability` is what that takes.
    ///
    /// # Errors
    ///
    /// The server's refusal or a time-out.
    pub(crate) async fn flight_info(
        &mut self,
        descriptor: FlightDescriptor,
        capability: Capability,
    ) -> Result<FlightInfo, Status> {
        let answer = in_time(self.client.get_flight_info(descriptor)).await;
        Ok(self.noted(capability, answer)?.into_inner())
    }

    /// Makes a call once, to learn whether the server has it; that it is refused otherwise is left
    /// to the measured calls.
    ///
    /// # Errors
    ///
    /// The server lacks it, or does not answer.
    pub(crate) async fn probe(
        &mut self,
        capability: Capability,
        request: &Request,
    ) -> Result<(), Stop> {
        let answer = in_time(request.answer(&mut self.client)).await;
        match self.noted(capability, answer) {
            Err(status) if status.code() == Code::Unimplemented || is_silence(&status) => {
                Err(self.lacks(capability, "", status))
            }
            _ => Ok(()),
        }
    }

    /// The flights of the server, at most [`limits::LISTED_FLIGHTS_MAX`].
    ///
    /// # Errors
    ///
    /// The server's refusal or a time-out.
    pub(crate) async fn list_flights(&mut self) -> Result<Vec<FlightInfo>, Status> {
        let listing = async {
            let flights = self.client.list_flights(Criteria::default()).await?.into_inner();
            let flights: Vec<_> = flights.take(limits::LISTED_FLIGHTS_MAX).collect().await;
            flights.into_iter().collect()
        };
        let flights = in_time(listing).await;
        self.noted(Capability::List, flights)
    }

    /// Whether a Flight server is there: any answer will do, a refusal too.
    ///
    /// # Errors
    ///
    /// A broken connection, or no answer in time.
    pub(crate) async fn ready(&mut self) -> Result<(), Stop> {
        self.has_action(DELETE_DATASET).await.map(drop)
    }

    /// Whether the server names an action; `false` when it lists none.
    ///
    /// # Errors
    ///
    /// A broken connection. A server without ListActions simply has no actions.
    pub(crate) async fn has_action(&mut self, name: &str) -> Result<bool, Stop> {
        let listing = async {
            let mut actions = self.client.list_actions(Empty {}).await?.into_inner();
            while let Some(action) = actions.next().await {
                if action?.r#type == name {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        let known = in_time(listing).await;
        match self.noted(Capability::Actions, known) {
            Ok(known) => Ok(known),
            Err(status) if is_silence(&status) => Err(self.refused("ListActions", status)),
            Err(_) => Ok(false),
        }
    }

    /// Deletes a dataset; one that is not there counts as deleted.
    ///
    /// # Errors
    ///
    /// The server's refusal or a time-out.
    pub(crate) async fn delete_dataset(&mut self, components: &[String]) -> Result<(), Status> {
        let body = serde_json::json!({ "dataset": components }).to_string().into_bytes();
        let deleting = async {
            let action = Action::new(DELETE_DATASET, body);
            let mut results = self.client.do_action(action).await?.into_inner();
            while let Some(result) = results.next().await {
                result?;
            }
            Ok(())
        };
        let deleted = in_time(deleting).await;
        match self.noted(Capability::Action, deleted) {
            Err(status) if status.code() == Code::NotFound => Ok(()),
            other => other,
        }
    }

    /// Notes that the server answered, and what that shows. The end of a connection that never brought an answer gets
    /// the way out: its reason is often only known to the server.
    pub(crate) fn noted<T>(
        &mut self,
        capability: Capability,
        answer: Result<T, Status>,
    ) -> Result<T, Status> {
        self.caps.note_answer(capability, &answer);
        let silence = answer.as_ref().err().filter(|status| is_silence(status));
        let Some(status) = silence else {
            self.answered = true;
            return answer;
        };
        if self.answered || status.code() != Code::Unavailable {
            return answer;
        }
        Err(Status::unavailable(self.way_out.added_to(status.message())))
    }

    /// Notes what something else than the code of an answer shows.
    pub(crate) fn note(&mut self, capability: Capability, is_there: bool) {
        self.caps.note(capability, is_there);
    }

    /// A call that a run cannot do without, as its end: the server's sentence, and what to use in
    /// place of what it lacks. `about` follows the name of the call.
    pub(crate) fn lacks(&self, capability: Capability, about: &str, status: Status) -> Stop {
        let call = match capability {
            Capability::Sql | Capability::Perf => Capability::Info.name(),
            other => other.name(),
        };
        let silent = is_silence(&status);
        self.ended(&format!("{call}{about}"), silent, capability.explained(status.into()))
    }

    /// A call that did not succeed, as the end of a run: with exit code 5 if the server has never
    /// answered, with 1 once it has.
    pub(crate) fn refused(&self, call: &str, status: Status) -> Stop {
        self.ended(call, is_silence(&status), status.into())
    }

    fn ended(&self, call: &str, silent: bool, failure: Failure) -> Stop {
        let Failure { code, sentence } = failure;
        let error = anyhow::anyhow!("{call}: {code}: {sentence}");
        if silent && !self.answered { Stop::unreachable(error) } else { Stop::failed(error) }
    }
}

impl WayOut {
    fn of(endpoint: &Endpoint) -> Self {
        let (sentence, names) = match endpoint {
            Endpoint::Tls { .. } => (
                "if the server asks for a client certificate, give one with --tls-cert and --tls-key",
                "--tls-cert",
            ),
            Endpoint::Tcp { .. } => {
                ("if the server serves TLS, use grpc+tls:// in place of grpc://", "grpc+tls://")
            }
            Endpoint::Unix(_) => ("the socket may belong to another program", "another program"),
        };
        Self { sentence, names }
    }

    fn added_to(&self, message: &str) -> String {
        if message.contains(self.names) {
            return message.to_owned();
        }
        format!("{message}; {}", self.sentence)
    }
}

/// Whether this may be said of a server that never got the call: the connection broke, or no
/// answer came in time.
pub(super) fn is_silence(status: &Status) -> bool {
    matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded)
}

async fn in_time<T>(call: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    tokio::time::timeout(limits::CALL_TIMEOUT, call).await.unwrap_or_else(|_| {
        let within = limits::CALL_TIMEOUT;
        Err(Status::deadline_exceeded(format!("no answer within {within:?}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_breaks_at_once_gets_the_way_out_once() {
        let check = |endpoint: &str, message: &str, want: &str| {
            let endpoint = endpoint.parse().expect("an endpoint");
            assert_eq!(WayOut::of(&endpoint).added_to(message), want);
        };
        let tls = "if the server serves TLS, use grpc+tls:// in place of grpc://";
        check("grpc://h:1", "broken pipe", &format!("broken pipe; {tls}"));
        check("grpc://h:1", &format!("broken pipe; {tls}"), &format!("broken pipe; {tls}"));
        check("grpc://h:1", "use grpc+tls://", "use grpc+tls://");
        let told = "the server asked for a client certificate; give --tls-cert";
        check("grpc+tls://h:1", told, told);
        check(
            "grpc+unix:///tmp/s",
            "broken pipe",
            "broken pipe; the socket may belong to another program",
        );
    }
}
