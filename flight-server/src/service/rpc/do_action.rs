//! DoAction and ListActions.

use std::sync::Arc;

use arrow_flight::{Action, ActionType};
use bytes::Bytes;
use flight_store::DatasetName;
use flight_ticket::Right;
use flight_wire::protocol::{DeleteRequest, actions};
use tonic::Status;

use super::ticket_actions;
use crate::service::Flight;
use crate::service::status::IntoStatus;
use crate::service::tickets::Caller;

pub(in crate::service) async fn do_action(
    flight: &Arc<Flight>,
    action: Action,
    caller: Caller,
) -> Result<Vec<arrow_flight::Result>, Status> {
    let result = |body: Bytes| Ok(vec![arrow_flight::Result { body }]);
    match action.r#type.as_str() {
        actions::HEALTHCHECK => result(Bytes::from_static(b"ok")),
        actions::PING if action.body.is_empty() => result(Bytes::from_static(b"ok")),
        actions::PING => result(action.body),
        actions::DELETE_DATASET => {
            let request = DeleteRequest::parse(&action.body).map_err(IntoStatus::into_status)?;
            flight
                .blocking(move |flight| {
                    let name = DatasetName::from_components(&request.dataset.components())
                        .map_err(IntoStatus::into_status)?;
                    if let Some(tickets) = &flight.tickets {
                        let named = Some(name.as_str());
                        tickets.spend(&caller.ticket, Right::Delete, named, &caller)?;
                    }
                    flight.store.delete(&name).map_err(IntoStatus::into_status)
                })
                .await?;
            result(Bytes::from_static(b"ok"))
        }
        name if ticket_actions::NAMES.contains(&name) => {
            result(ticket_actions::answer(flight, name, action.body, caller).await?)
        }
        other => {
            let other: String = other.chars().take(64).collect();
            let known: Vec<_> = list_actions(flight).into_iter().map(|a| a.r#type).collect();
            Err(Status::unimplemented(format!(
                "there is no action {other:?}; there are {}",
                known.join(", ")
            )))
        }
    }
}

/// The actions that there are, with what they take and give.
pub(in crate::service) fn list_actions(flight: &Flight) -> Vec<ActionType> {
    let action = |name: &str, description: &str| ActionType {
        r#type: name.to_owned(),
        description: description.to_owned(),
    };
    let mut all = vec![
        action(actions::HEALTHCHECK, "Answers `ok` while the server takes calls."),
        action(actions::PING, "Answers with its body, or `ok` when it has none."),
        action(
            actions::DELETE_DATASET,
            "Deletes a dataset durably: {\"dataset\": \"a/b\"}. Answers `ok`.",
        ),
    ];
    if flight.tickets.is_some() {
        all.extend(ticket_actions::list());
    }
    all
}
