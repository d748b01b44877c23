//! Signed tickets: what they permit, to whom, and what is refused.

use std::time::{SystemTime, UNIX_EPOCH};

use arrow_flight::{
    CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, FlightEndpoint, FlightInfo,
    RenewFlightEndpointRequest,
};
use flight_testkit::{ServerCommand, ServerProcess};
use flight_tls::ClientOptions;
use flight_wire::protocol::Ticket;
use prost::Message as _;
use tempfile::{TempDir, tempdir};
use tonic::{Code, Status};

use crate::client::{Client, admin_get, table, tag_of};
use crate::rotating::{Files, client_of};

pub const ALL: &str = r#"{"dataset":"t"}"#;
const ROWS: usize = 1003;

pub struct Signing {
    pub data: TempDir,
    pub server: ServerProcess,
    pub client: Client,
}

impl Signing {
    /// A server with these flags, and a dataset `t` whose rows have the tag 7.
    pub async fn start(flags: &[&str]) -> Self {
        Self::over(tempdir().unwrap(), flags).await
    }

    pub async fn over(data: TempDir, flags: &[&str]) -> Self {
        let command = ServerCommand::serve(data.path());
        let command = command.args(["--admin", "127.0.0.1:0"]).args(flags).env("RUST_LOG", "debug");
        let server = command.start();
        let mut client = Client::connect(server.endpoint()).await;
        if client.names().await.is_empty() {
            let permit = issue(&mut client, r#"{"dataset":"t","mode":"write"}"#).await.unwrap();
            client.put_permitted(ALL, &[table(7, ROWS)], &permit).await.unwrap();
        }
        Self { data, server, client }
    }

    pub async fn info(&mut self) -> FlightInfo {
        self.client.info(ALL).await.unwrap()
    }

    pub async fn ticket(&mut self) -> Vec<u8> {
        ticket(&self.info().await.endpoint[0])
    }

    /// Reads a ticket of all rows.
    pub async fn read(&self, ticket: &[u8]) -> Result<(), Status> {
        read(&self.client, ticket).await
    }

    /// How often tickets were refused for this reason.
    fn refused(&self, reason: &str) -> u64 {
        let metrics = admin_get(&self.server, "/metrics");
        let line = format!("flight_server_tickets_refused_total{{reason=\"{reason}\"}} ");
        let value = metrics.lines().find_map(|metric| metric.strip_prefix(&line));
        value.map_or(0, |value| value.parse().unwrap())
    }
}

pub fn ticket(endpoint: &FlightEndpoint) -> Vec<u8> {
    endpoint.ticket.clone().unwrap().ticket.to_vec()
}

async fn issue(client: &mut Client, body: &str) -> Result<Vec<u8>, Status> {
    client.act("ticket.issue", body.as_bytes().to_vec(), None).await
}

pub async fn read(client: &Client, ticket: &[u8]) -> Result<(), Status> {
    let (mut stream, mut batches) = (client.stream(ticket).await?, Vec::new());
    while let Some(batch) = stream.next().await? {
        batches.push(batch);
    }
    assert_eq!(tag_of(&batches, ROWS), 7);
    Ok(())
}

/// The one answer to every bad ticket.
pub fn assert_refused<T>(outcome: Result<T, Status>, what: &str) {
    let Err(status) = outcome else { panic!("{what}: a bad ticket was taken") };
    assert_eq!(status.code(), Code::PermissionDenied, "{what}: {status}");
    let text = "the ticket does not permit this, or no more; ask for a new one: GetFlightInfo to \
                read, the action ticket.issue to write and delete";
    assert_eq!(status.message(), text, "{what}");
}

fn expiration_ms(endpoint: &FlightEndpoint) -> i64 {
    let expiration = endpoint.expiration_time.as_ref().unwrap();
    expiration.seconds * 1000 + i64::from(expiration.nanos) / 1_000_000
}

#[tokio::test]
async fn tickets_of_every_algorithm_are_issued_and_taken() {
    for algorithm in ["hmac", "ed25519", "es256", "rs256"] {
        let mut signing = Signing::start(&["--tickets", algorithm]).await;
        for endpoints in [1, 3] {
            let command = format!(r#"{{"dataset":"t","endpoints":{endpoints},"columns":[0,1]}}"#);
            let info = signing.client.info(&command).await.unwrap();
            assert_eq!(info.endpoint.len(), endpoints, "{algorithm}");
            assert_eq!(
                tag_of(&signing.client.get(&command).await.unwrap(), ROWS),
                7,
                "{algorithm}"
            );
        }
        // A ticket may be used often while it lasts.
        let ticket = signing.ticket().await;
        for _ in 0..2 {
            signing.read(&ticket).await.unwrap();
        }
        let expiration = expiration_ms(&signing.info().await.endpoint[0]);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
        let left = expiration - now;
        assert!((240_000..=300_000).contains(&left), "{algorithm}: {left} ms");
    }
}

#[tokio::test]
async fn what_was_not_signed_here_is_refused_and_the_reason_counted() {
    let mut signing = Signing::start(&["--tickets", "hmac"]).await;
    let good = signing.ticket().await;
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        assert_refused(signing.read(&bad).await, &format!("byte {at}"));
    }
    assert_eq!(signing.refused("malformed"), 4);
    assert_eq!(signing.refused("unknown_key"), 16);
    assert_eq!(signing.refused("signature"), good.len() as u64 - 20);
    let plain = Ticket::whole("t".into(), [0; 16]).encode();
    for bytes in [&b""[..], ALL.as_bytes(), &plain, &good[..good.len() - 1], &[0xff; 300]] {
        assert_refused(signing.read(bytes).await, "what is no signed ticket");
    }
    let other = Signing::start(&["--tickets", "hmac"]).await;
    assert_refused(other.read(&good).await, "another server");
    signing.read(&good).await.unwrap();
    let metrics = admin_get(&signing.server, "/metrics");
    for figure in ["ticket_issue_seconds_count", "ticket_verify_seconds_count"] {
        assert!(metrics.contains(figure), "{figure} is not in\n{metrics}");
    }
}

#[tokio::test]
async fn perf_gives_no_way_around_tickets() {
    let mut signing = Signing::start(&["--tickets", "hmac", "--perf"]).await;
    let perf = [0x10, 1, 0x18, 100, 0x20, 10];
    assert_refused(signing.read(&perf).await, "a ticket of Arrow's benchmark");
    let ticket = signing.ticket().await;
    signing.read(&ticket).await.unwrap();
}

#[tokio::test]
async fn a_ticket_ends_when_it_says() {
    let flags = ["--tickets", "hmac", "--ticket-ttl", "2s", "--ticket-skew", "0s"];
    let mut signing = Signing::start(&flags).await;
    let endpoint = signing.info().await.endpoint.swap_remove(0);
    let ticket = ticket(&endpoint);
    let refused = loop {
        if let Err(refused) = signing.read(&ticket).await {
            break refused;
        }
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    assert!(expiration_ms(&endpoint) <= now, "refused before its time: {refused}");
    assert_refused(Err::<(), _>(refused), "expired");
    assert_eq!(signing.refused("expired"), 1);
}

#[tokio::test]
async fn a_ticket_is_for_one_version_of_its_dataset() {
    let mut signing = Signing::start(&["--tickets", "hmac"]).await;
    let old = signing.ticket().await;
    let permit = issue(&mut signing.client, r#"{"dataset":"t","mode":"write"}"#).await.unwrap();
    let replace = r#"{"dataset":"t","mode":"replace"}"#;
    signing.client.put_permitted(replace, &[table(8, 10)], &permit).await.unwrap();
    let refused = signing.read(&old).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("call GetFlightInfo again"), "{refused}");
}

#[tokio::test]
async fn uploads_and_deletions_need_a_ticket_for_just_that() {
    let mut signing = Signing::start(&["--tickets", "hmac"]).await;
    let read = signing.ticket().await;
    let client = &mut signing.client;
    let write = issue(client, r#"{"dataset":"u","mode":"write"}"#).await.unwrap();
    let delete = issue(client, r#"{"dataset":["u"],"mode":"delete"}"#).await.unwrap();
    let upload = r#"{"dataset":"u"}"#;
    let rows = [table(1, 5)];
    assert_refused(client.put(upload, &rows).await, "no ticket");
    for (ticket, what) in [(&read, "to read"), (&delete, "to delete"), (&vec![0; 9], "none")] {
        assert_refused(client.put_permitted(upload, &rows, ticket).await, what);
    }
    assert_refused(client.put_permitted(r#"{"dataset":"v"}"#, &rows, &write).await, "for u");
    client.put_permitted(upload, &rows, &write).await.unwrap();
    assert_refused(client.stream(&write).await.map(drop), "to write");
    let body = || upload.as_bytes().to_vec();
    for ticket in [None, Some(&read[..]), Some(&write)] {
        assert_refused(client.act("delete-dataset", body(), ticket).await, "a deletion");
    }
    client.act("delete-dataset", body(), Some(&delete)).await.unwrap();
    assert_eq!(client.names().await, ["t"]);
}

#[tokio::test]
async fn a_ticket_for_one_use_and_so_many_bytes_permits_no_more() {
    let mut signing = Signing::start(&["--tickets", "hmac"]).await;
    let client = &mut signing.client;
    let body = r#"{"dataset":"u","mode":"write","once":true}"#;
    let once = issue(client, body).await.unwrap();
    let replace = r#"{"dataset":"u","mode":"replace"}"#;
    client.put_permitted(replace, &[table(1, 5)], &once).await.unwrap();
    assert_refused(client.put_permitted(replace, &[table(2, 5)], &once).await, "used before");
    let body = r#"{"dataset":"u","mode":"write","bytes":20000}"#;
    let small = issue(client, body).await.unwrap();
    let refused = client.put_permitted(replace, &[table(3, 5000)], &small).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    client.put_permitted(replace, &[table(4, 50)], &small).await.unwrap();
    assert_eq!(tag_of(&client.get(r#"{"dataset":"u"}"#).await.unwrap(), 50), 4);
}

#[tokio::test]
async fn an_endpoint_is_renewed_and_all_of_it_cancelled() {
    let mut signing = Signing::start(&["--tickets", "hmac"]).await;
    let info = signing.client.info(r#"{"dataset":"t","endpoints":2}"#).await.unwrap();
    let endpoint = info.endpoint[1].clone();
    let request = RenewFlightEndpointRequest { endpoint: Some(endpoint.clone()) };
    let renew = request.encode_to_vec();
    let body = loop {
        let body = signing.client.act("RenewFlightEndpoint", renew.clone(), None).await.unwrap();
        let renewed = FlightEndpoint::decode(&body[..]).unwrap();
        if expiration_ms(&endpoint) < expiration_ms(&renewed) {
            break body;
        }
    };
    let renewed = ticket(&FlightEndpoint::decode(&body[..]).unwrap());
    signing.client.stream(&renewed).await.unwrap();
    let request = CancelFlightInfoRequest { info: Some(info.clone()) }.encode_to_vec();
    for _ in 0..2 {
        let client = &mut signing.client;
        let answer = client.act("CancelFlightInfo", request.clone(), None).await.unwrap();
        let answer = CancelFlightInfoResult::decode(&answer[..]).unwrap();
        assert_eq!(answer.status(), CancelStatus::Cancelled);
    }
    let tickets = [ticket(&info.endpoint[0]), ticket(&info.endpoint[1]), renewed];
    for ticket in &tickets {
        assert_refused(signing.client.stream(ticket).await.map(drop), "cancelled");
    }
    assert_refused(signing.client.act("RenewFlightEndpoint", renew, None).await, "cancelled");
    // Other tickets for the same rows live on, and nobody cancels what was not issued.
    let other = signing.info().await;
    signing.read(&ticket(&other.endpoint[0])).await.unwrap();
    let forged = FlightInfo::default().with_endpoint(FlightEndpoint::default());
    let request = CancelFlightInfoRequest { info: Some(forged) }.encode_to_vec();
    assert_refused(signing.client.act("CancelFlightInfo", request, None).await, "no ticket");
}

#[tokio::test]
async fn a_bound_ticket_is_of_use_to_its_client_alone() {
    for (bind, bound) in [("mtls", true), ("none", false)] {
        let files = Files::new();
        files.write("clients.pem", &files.root.cert_pem());
        let served = files.serve(&[
            "--tickets",
            "hmac",
            "--ticket-bind",
            bind,
            "--tls-client-auth",
            "optional",
        ]);
        let root = &served.files.root;
        let [ann, bob] = ["ann.example", "bob.example"].map(|name| client_of(root, name));
        let connect = async |shown| {
            served.call(&served.client_tls(shown, ClientOptions::default())).await.unwrap()
        };
        let mut owner = connect(Some(&ann)).await;
        let permit = issue(&mut owner, r#"{"dataset":"t","mode":"write"}"#).await.unwrap();
        owner.put_permitted(ALL, &[table(7, ROWS)], &permit).await.unwrap();
        let ticket = ticket(&owner.info(ALL).await.unwrap().endpoint[0]);
        read(&owner, &ticket).await.unwrap();
        read(&connect(Some(&ann)).await, &ticket).await.unwrap();
        let mut nobody = connect(None).await;
        let others = [connect(Some(&bob)).await, nobody.clone()];
        for other in others {
            let outcome = read(&other, &ticket).await;
            match bound {
                true => assert_refused(outcome, "another client"),
                false => outcome.unwrap(),
            }
        }
        if bound {
            let refused = nobody.info(ALL).await.unwrap_err();
            assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
        }
    }
}

#[tokio::test]
async fn a_server_without_signed_tickets_offers_none() {
    let data = tempdir().unwrap();
    let server = ServerProcess::start(data.path());
    let mut client = Client::connect(server.endpoint()).await;
    let refused = issue(&mut client, r#"{"dataset":"t","mode":"write"}"#).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unimplemented, "{refused}");
    client.put(ALL, &[table(7, ROWS)]).await.unwrap();
    assert!(client.info(ALL).await.unwrap().endpoint[0].expiration_time.is_none());
}
