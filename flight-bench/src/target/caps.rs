//! What a server can do, as far as it was asked, and what to use where it cannot.
//!
//! Nothing is asked for its own sake: what is noted here are the answers to calls that a run needs.

use serde::{Deserialize, Serialize};
use tonic::Status;

use crate::cli::{Call, Source};
use crate::record::Failure;

/// What a server has shown; absent is what it was not asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Caps {
    list: Option<bool>,
    info: Option<bool>,
    sql: Option<bool>,
    perf: Option<bool>,
    schema: Option<bool>,
    poll: Option<bool>,
    get: Option<bool>,
    put: Option<bool>,
    acks: Option<bool>,
    exchange: Option<bool>,
    actions: Option<bool>,
    action: Option<bool>,
}

/// Something that a server may be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capability {
    List,
    /// GetFlightInfo of a path or a command.
    Info,
    /// GetFlightInfo of a Flight SQL query.
    Sql,
    /// GetFlightInfo of Arrow's perf protocol.
    Perf,
    Schema,
    Poll,
    Get,
    Put,
    /// Acknowledgements of single batches.
    Acks,
    Exchange,
    /// ListActions.
    Actions,
    /// DoAction.
    Action,
}

impl Capability {
    const ALL: [Self; 12] = [
        Self::List,
        Self::Info,
        Self::Sql,
        Self::Perf,
        Self::Schema,
        Self::Poll,
        Self::Get,
        Self::Put,
        Self::Acks,
        Self::Exchange,
        Self::Actions,
        Self::Action,
    ];

    /// What GetFlightInfo of a source takes.
    pub(crate) fn of_source(source: &Source) -> Self {
        match source {
            Source::Path(_) | Source::Command(_) | Source::Ticket(_) => Self::Info,
            Source::Sql(_) => Self::Sql,
            Source::Perf => Self::Perf,
        }
    }

    /// As the Flight specification writes the call, or in words where it is not a call.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::List => "ListFlights",
            Self::Info => "GetFlightInfo",
            Self::Sql => "Flight SQL",
            Self::Perf => "Arrow's perf protocol",
            Self::Schema => "GetSchema",
            Self::Poll => "PollFlightInfo",
            Self::Get => "DoGet",
            Self::Put => "DoPut",
            Self::Acks => "acknowledgements of batches",
            Self::Exchange => "DoExchange",
            Self::Actions => "ListActions",
            Self::Action => "DoAction",
        }
    }

    /// What to do about a server that lacks it.
    fn instead(self) -> &'static str {
        match self {
            Self::List => {
                "it lists nothing; get reads what --source path:NAME, cmd:TEXT or ticket:TEXT names, \
                 and 'flight-bench unary info' measures another call"
            }
            Self::Info => {
                "give what its DoGet takes with --source ticket:TEXT, or ask a Flight SQL server \
                 with --sql"
            }
            Self::Sql => {
                "it answers no Flight SQL, so name what to read with --source path:NAME, cmd:TEXT \
                 or ticket:TEXT"
            }
            Self::Perf => {
                "it does not speak Arrow's perf protocol (a flight-server does with --perf), so \
                 name what to read with --source path:NAME, cmd:TEXT or ticket:TEXT"
            }
            Self::Schema | Self::Poll => "measure GetFlightInfo, with 'flight-bench unary info'",
            // Some servers say so of what one dataset holds.
            Self::Get => "if it has no DoGet at all, measure what it has, with put or unary",
            Self::Put => {
                "if it takes no uploads at all, measure what it sends, with 'flight-bench get'"
            }
            Self::Exchange => {
                "it exchanges nothing (a flight-server does with --perf); measure get or put"
            }
            Self::Acks | Self::Actions | Self::Action => {
                "it has no such action; choose one that it has with --action, or measure another \
                 call, as with 'flight-bench unary info'"
            }
        }
    }

    /// Adds the way out to a failure that says that the server lacks it.
    pub(crate) fn explained(self, failure: Failure) -> Failure {
        if failure.code != LACKS {
            return failure;
        }
        Failure::new(failure.code, format!("{}; {}", failure.sentence, self.instead()))
    }
}

impl From<Call> for Capability {
    fn from(call: Call) -> Self {
        match call {
            Call::Info => Self::Info,
            Call::Schema => Self::Schema,
            Call::List => Self::List,
            Call::Action => Self::Action,
            Call::Poll => Self::Poll,
        }
    }
}

impl Caps {
    pub(crate) fn note(&mut self, capability: Capability, is_there: bool) {
        *self.place(capability) = Some(is_there);
    }

    /// Notes what an answer says; one that never came says nothing.
    pub(crate) fn note_answer<T>(&mut self, capability: Capability, answer: &Result<T, Status>) {
        match answer {
            Err(status) if super::control::is_silence(status) => {}
            Err(status) => self.note(capability, status.code() != tonic::Code::Unimplemented),
            Ok(_) => self.note(capability, true),
        }
    }

    /// Takes over what `later` knows.
    pub(crate) fn merge(&mut self, mut later: Self) {
        for capability in Capability::ALL {
            let known = *later.place(capability);
            let place = self.place(capability);
            *place = known.or(*place);
        }
    }

    /// The names of what is there, or of what is lacking.
    pub(crate) fn names(mut self, is_there: bool) -> Vec<&'static str> {
        let fits = |one: &Capability| *self.place(*one) == Some(is_there);
        Capability::ALL.into_iter().filter(fits).map(Capability::name).collect()
    }

    fn place(&mut self, capability: Capability) -> &mut Option<bool> {
        match capability {
            Capability::List => &mut self.list,
            Capability::Info => &mut self.info,
            Capability::Sql => &mut self.sql,
            Capability::Perf => &mut self.perf,
            Capability::Schema => &mut self.schema,
            Capability::Poll => &mut self.poll,
            Capability::Get => &mut self.get,
            Capability::Put => &mut self.put,
            Capability::Acks => &mut self.acks,
            Capability::Exchange => &mut self.exchange,
            Capability::Actions => &mut self.actions,
            Capability::Action => &mut self.action,
        }
    }
}

/// The code of what a server lacks, as failures are counted by it.
pub(crate) const LACKS: &str = "UNIMPLEMENTED";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_shows_what_a_server_has_and_silence_shows_nothing() {
        let check = |answer: Result<(), Status>, want: Option<bool>| {
            let mut caps = Caps::default();
            caps.note_answer(Capability::Put, &answer);
            assert_eq!(caps, Caps { put: want, ..Caps::default() }, "{answer:?}");
        };
        check(Ok(()), Some(true));
        check(Err(Status::not_found("no such table")), Some(true));
        check(Err(Status::unauthenticated("who are you")), Some(true));
        check(Err(Status::unimplemented("not here")), Some(false));
        check(Err(Status::unavailable("connection refused")), None);
        check(Err(Status::deadline_exceeded("too late")), None);
    }

    #[test]
    fn what_is_learnt_later_counts_and_what_is_not_asked_again_stays() {
        let mut caps = Caps { list: Some(true), put: Some(false), ..Caps::default() };
        caps.merge(Caps { put: Some(true), acks: Some(false), ..Caps::default() });
        assert_eq!(caps.names(true), ["ListFlights", "DoPut"]);
        assert_eq!(caps.names(false), ["acknowledgements of batches"]);
        let json = serde_json::to_value(caps).expect("a document");
        assert_eq!((&json["put"], &json["poll"]), (&true.into(), &serde_json::Value::Null));
    }

    #[test]
    fn only_what_a_server_lacks_gets_a_way_out() {
        let check = |code: &'static str, want: &str| {
            let told = Capability::Get.explained(Failure::new(code, "no"));
            assert_eq!(told.sentence, want);
        };
        check("NOT_FOUND", "no");
        let want = "no; if it has no DoGet at all, measure what it has, with put or unary";
        check("UNIMPLEMENTED", want);
    }
}
