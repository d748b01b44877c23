//! Calls outside the measured window, each with a time-out: planning, probing, deleting.

use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::{Action, Criteria, Empty, FlightDescriptor, FlightInfo};
use flight_net::Endpoint;
use flight_net::client::{ConnectError, Connection, Connector};
use flight_wire::protocol::actions::DELETE_DATASET;
use tokio_stream::StreamExt;
use tonic::{Code, Status};

use crate::exit::Stop;
use crate::limits;
use crate::record::Failure;

/// A connection for calls that are not measured.
pub(crate) struct Control {
    client: FlightServiceClient<Connection>,
    connection: Connection,
    /// What to try when the connection breaks as soon as it is used.
    way_out: &'static str,
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
            | ConnectError::Http2 { .. } => Stop::unreachable(error),
        })?;
        let client = FlightServiceClient::new(connection.clone())
            .max_decoding_message_size(limits::CONTROL_BYTES_MAX);
        let way_out = match connector.endpoint() {
            Endpoint::Tls { .. } => {
                "if the server asks for a client certificate, give one with --tls-cert and --tls-key"
            }
            Endpoint::Tcp { .. } => "if the server speaks TLS, write grpc+tls:// for grpc://",
            Endpoint::Unix(_) => "the socket may belong to another program",
        };
        Ok(Self { client, connection, way_out })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// # Errors
    ///
    /// The server's refusal or a time-out.
    pub(crate) async fn flight_info(
        &mut self,
        descriptor: FlightDescriptor,
    ) -> Result<FlightInfo, Status> {
        let answer = in_time(self.client.get_flight_info(descriptor)).await;
        Ok(self.explained(answer)?.into_inner())
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
        self.explained(flights)
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
        match self.explained(known) {
            Ok(known) => Ok(known),
            Err(status) if status.code() == Code::Unavailable => {
                Err(refused("ListActions", status))
            }
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
        match in_time(deleting).await {
            Err(status) if status.code() == Code::NotFound => Ok(()),
            other => other,
        }
    }

    /// Adds the way out to a connection's end, whose reason is often only known to the server.
    fn explained<T>(&self, answer: Result<T, Status>) -> Result<T, Status> {
        answer.map_err(|status| match status.code() {
            Code::Unavailable => {
                Status::unavailable(format!("{}; {}", status.message(), self.way_out))
            }
            _ => status,
        })
    }
}

/// A server's refusal of a call, as the end of a run.
pub(crate) fn refused(call: &str, status: Status) -> Stop {
    let unavailable = status.code() == Code::Unavailable;
    let Failure { code, sentence } = status.into();
    let error = anyhow::anyhow!("{call}: {code}: {sentence}");
    if unavailable { Stop::unreachable(error) } else { Stop::failed(error) }
}

async fn in_time<T>(call: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    tokio::time::timeout(limits::CALL_TIMEOUT, call).await.unwrap_or_else(|_| {
        let within = limits::CALL_TIMEOUT;
        Err(Status::deadline_exceeded(format!("no answer within {within:?}")))
    })
}
