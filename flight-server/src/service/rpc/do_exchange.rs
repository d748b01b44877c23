//! DoExchange: under `--perf`, an echo of every message, for benchmarks of the wire alone.

use std::sync::{Arc, Mutex, PoisonError};

use flight_net::server::CallContext;
use flight_net::{Body, FrameSender};
use flight_wire::Frame;
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::time::timeout;
use tonic::Status;

use super::input::Input;
use crate::service::Flight;
use crate::service::budget::Share;
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
        drop(input);
        let status = echoed.err().unwrap_or_else(|| Status::ok(""));
        call.finish(&status);
        sender.end_within(flight.stall, trailers(&status)).await;
    });
    status::streaming(body)
}

/// A message's share of the memory for uploads; given back by whoever of its two holders goes first.
#[derive(Clone)]
struct Loan(Arc<Mutex<Option<Share>>>);

/// The frame's end of it.
struct Lent(Loan);

impl Loan {
    fn is_held(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn give_back(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.give_back();
    }
}

/// The call's end of all of them.
#[derive(Default)]
struct Loans(Vec<Loan>);

impl Drop for Loans {
    fn drop(&mut self) {
        self.0.iter().for_each(Loan::give_back);
    }
}

async fn echo(
    flight: &Flight,
    input: &mut Input,
    sender: &FrameSender,
    call: &mut Call,
) -> Result<(), Status> {
    let mut loans = Loans::default();
    while let Some(received) = input.next().await? {
        let mut frame = Frame::again(&received.message);
        let bytes = frame.bytes() as u64;
        // Its share of the memory for uploads, for as long as it waits for the socket, and no longer
        // than this call: what a reader leaves there must not keep uploads from memory.
        loans.0.retain(Loan::is_held);
        let loan = Loan(Arc::new(Mutex::new(received.share)));
        frame.holding(Lent(loan.clone()));
        loans.0.push(loan);
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
