//! DoExchange: under `--perf`, an echo of every message, for benchmarks of the wire alone.

use std::sync::Arc;

use flight_net::server::CallContext;
use flight_net::{Body, FrameSender};
use flight_wire::Frame;
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::time::timeout;
use tonic::Status;

use super::input::Input;
use crate::service::Flight;
use crate::service::metrics::Call;
use crate::service::status::{self, trailers};

/// Why it is refused otherwise.
const REFUSED: &str = "this server has no DoExchange but the echo of --perf; \
     read with DoGet and upload with DoPut";

/// Answers each message with the same header, metadata and body, as they came: nothing is decoded.
pub(in crate::service) fn do_exchange(
    flight: &Arc<Flight>,
    context: &CallContext,
    request: Request<Incoming>,
) -> Response<Body> {
    let mut call = flight.metrics.begin("DoExchange");
    if !flight.perf {
        let status = Status::unimplemented(REFUSED);
        call.finish(&status);
        return status::response(&status);
    }
    let (deadline, flight) = (context.deadline, Arc::clone(flight));
    let (sender, body) = Body::frames();
    tokio::spawn(async move {
        let mut input = Input::new(request.into_body(), flight.budget.clone(), flight.stall);
        let echoed = echo(&flight, &mut input, &sender, &mut call);
        let echoed = match deadline {
            None => echoed.await,
            Some(deadline) => tokio::time::timeout_at(deadline, echoed)
                .await
                .unwrap_or_else(|_| Err(Status::deadline_exceeded("the deadline has passed"))),
        };
        let status = echoed.err().unwrap_or_else(|| Status::ok(""));
        call.finish(&status);
        // A reader that does not take the trailers loses the stream.
        let _ = timeout(flight.stall, sender.end(Some(trailers(&status)))).await;
    });
    status::streaming(body)
}

async fn echo(
    flight: &Flight,
    input: &mut Input,
    sender: &FrameSender,
    call: &mut Call,
) -> Result<(), Status> {
    while let Some(received) = input.next().await? {
        let mut frame = Frame::again(&received.message);
        let bytes = frame.bytes() as u64;
        // Its share of the memory for uploads, for as long as it waits for the socket.
        frame.holding(received.share);
        match timeout(flight.stall, sender.send(frame)).await {
            Ok(true) => call.sent(bytes, 1, 0),
            Ok(false) => return Err(Status::cancelled("the client went away")),
            Err(_) => {
                let stall = flight.stall;
                return Err(Status::deadline_exceeded(format!("nothing was read for {stall:?}")));
            }
        }
    }
    Ok(())
}
