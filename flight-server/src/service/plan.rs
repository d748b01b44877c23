//! A request and a dataset become what is sent: a schema and the tickets of its streams.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::Schema;
use bytes::Bytes;
use flight_store::DatasetInfo;
use flight_wire::protocol::{ColumnRef, GetRequest, Ticket};
use flight_wire::schema_message;
use tonic::Status;

use super::status::IntoStatus;

/// What GetFlightInfo answers with.
#[derive(Debug)]
pub(super) struct Plan {
    /// Exactly the schema that DoGet sends, as an encapsulated IPC message.
    pub schema_message: Bytes,
    /// One for each endpoint, in the order of their rows.
    pub tickets: Vec<Ticket>,
    /// Rows of all endpoints, where they can be told.
    pub rows: Option<u64>,
    /// Whether nothing of the dataset is left out.
    pub whole: bool,
}

/// Columns that an error lists.
const COLUMNS_LISTED: usize = 20;

impl Plan {
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` for columns that the dataset does not have.
    pub(super) fn new(dataset: &DatasetInfo, request: &GetRequest) -> Result<Self, Status> {
        let columns = request.columns.as_deref().map(|c| resolve(dataset, c)).transpose()?;
        let schema_message = match &columns {
            None => dataset.schema_message.clone(),
            Some(columns) => schema_message(&project(&dataset.schema, columns))
                .map_err(IntoStatus::into_status)?,
        };
        let first = request.offset.unwrap_or(0);
        let all = dataset.rows.map(|rows| rows.saturating_sub(first));
        let rows = match (all, request.limit) {
            (Some(all), limit) => Some(all.min(limit.unwrap_or(u64::MAX))),
            // A limit says how many rows there are at most, not how many there are.
            (None, _) => None,
        };
        let first = first.min(dataset.rows.unwrap_or(first));
        let ticket = Ticket {
            // With its extension: it means this file whatever other files appear.
            dataset: dataset.path.as_str().to_owned(),
            version: dataset.version.to_bytes(),
            first_row: first,
            rows: rows.or(request.limit).unwrap_or(u64::MAX - first),
            columns: columns.map(|c| c.into_iter().map(|index| index as u32).collect()),
            message_bytes_max: request.message_bytes,
            batch_rows_max: request.batch_rows.map(|rows| rows as u32),
            compression: request.compression.unwrap_or_default(),
            checksum: request.checksum,
        };
        let whole = request.columns.is_none()
            && request.offset.is_none()
            && (request.limit.is_none() || (rows.is_some() && rows == dataset.rows));
        let endpoints = rows.map_or(1, |rows| request.endpoints.unwrap_or(1).min(rows.max(1)));
        Ok(Self { schema_message, tickets: ranges(&ticket, endpoints), rows, whole })
    }
}

/// `ticket` cut into `count` ranges of rows whose lengths differ by at most one.
fn ranges(ticket: &Ticket, count: u64) -> Vec<Ticket> {
    let (each, more) = (ticket.rows / count, ticket.rows % count);
    let mut first_row = ticket.first_row;
    let range = |index| {
        let rows = each + u64::from(index < more);
        let range = Ticket { first_row, rows, ..ticket.clone() };
        first_row += rows;
        range
    };
    (0..count).map(range).collect()
}

fn resolve(dataset: &DatasetInfo, columns: &[ColumnRef]) -> Result<Vec<usize>, Status> {
    let fields = dataset.schema.fields();
    let mut seen = HashSet::new();
    let mut indices = Vec::with_capacity(columns.len().min(fields.len()));
    for column in columns {
        let index = match column {
            ColumnRef::Index(index) if *index < fields.len() => *index,
            ColumnRef::Index(index) => {
                return Err(Status::invalid_argument(format!(
                    "dataset {:?} has {} columns; there is none with index {index}",
                    dataset.name.as_str(),
                    fields.len(),
                )));
            }
            ColumnRef::Name(name) => by_name(dataset, name)?,
        };
        if !seen.insert(index) {
            let name = fields[index].name();
            return Err(Status::invalid_argument(format!("column {name:?} is asked for twice")));
        }
        indices.push(index);
    }
    Ok(indices)
}

fn by_name(dataset: &DatasetInfo, name: &str) -> Result<usize, Status> {
    let fields = dataset.schema.fields();
    let mut found = fields.iter().enumerate().filter(|(_, field)| field.name() == name);
    let dataset = dataset.name.as_str();
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Ok(index),
        (None, _) => {
            let mut known: Vec<_> = fields.iter().map(|f| format!("{:?}", f.name())).collect();
            if known.len() > COLUMNS_LISTED {
                known.truncate(COLUMNS_LISTED);
                known.push("…".into());
            }
            Err(Status::invalid_argument(format!(
                "dataset {dataset:?} has no column {name:?}; it has {}",
                known.join(", "),
            )))
        }
        (Some((first, _)), Some((second, _))) => Err(Status::invalid_argument(format!(
            "dataset {dataset:?} has several columns {name:?}; ask by index: {first}, {second}, …"
        ))),
    }
}

fn project(schema: &Schema, columns: &[usize]) -> Schema {
    let fields: Vec<_> = columns.iter().map(|index| Arc::clone(&schema.fields()[*index])).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field};
    use flight_files::{Format, Version};
    use flight_store::DatasetName;

    use super::*;

    fn dataset(rows: Option<u64>) -> DatasetInfo {
        let field = |name: &str| Field::new(name, DataType::Int32, true);
        let fields = vec![field("a"), field("a.b"), field("x"), field("x"), field("")];
        DatasetInfo {
            name: DatasetName::parse("d").unwrap(),
            path: DatasetName::parse("d.feather").unwrap(),
            format: Format::Feather,
            schema: Arc::new(Schema::new(fields)),
            schema_message: Bytes::new(),
            rows,
            bytes: 1,
            version: Version::from_bytes([7; 16]),
        }
    }

    fn check(rows: Option<u64>, command: &str, answer: &str) {
        let request = GetRequest::parse(command.as_bytes()).unwrap();
        let dataset = dataset(rows);
        let fields = dataset.schema.fields();
        let text = match Plan::new(&dataset, &request) {
            Err(status) => status.message().to_owned(),
            Ok(plan) => {
                let ranges: Vec<_> =
                    plan.tickets.iter().map(|t| t.first_row..t.first_row + t.rows).collect();
                let columns = plan.tickets[0].columns.clone();
                let columns = columns.unwrap_or_else(|| (0..fields.len() as u32).collect());
                let names: Vec<_> = columns.iter().map(|c| fields[*c as usize].name()).collect();
                format!("{ranges:?} rows {:?} whole {} {names:?}", plan.rows, plan.whole)
            }
        };
        assert!(text.contains(answer), "{command}: {text}");
    }

    #[test]
    fn columns_are_taken_by_exact_name_in_the_order_asked_for() {
        check(Some(9), r#"{"dataset":"d","columns":["a.b","a",""]}"#, r#"["a.b", "a", ""]"#);
        check(Some(9), r#"{"dataset":"d","columns":[3,2]}"#, r#"["x", "x"]"#);
        check(Some(9), r#"{"dataset":"d","columns":[]}"#, "whole false []");
    }

    #[test]
    fn columns_that_cannot_be_told_are_refused_with_the_way_out() {
        check(Some(9), r#"{"dataset":"d","columns":["b"]}"#, r#"no column "b"; it has "a", "a.b""#);
        check(Some(9), r#"{"dataset":"d","columns":["x"]}"#, "ask by index: 2, 3");
        check(Some(9), r#"{"dataset":"d","columns":["a",0]}"#, r#""a" is asked for twice"#);
        check(Some(9), r#"{"dataset":"d","columns":[5]}"#, "none with index 5");
    }

    #[test]
    fn endpoints_share_the_rows() {
        check(
            Some(10),
            r#"{"dataset":"d","endpoints":3}"#,
            "[0..4, 4..7, 7..10] rows Some(10) whole true",
        );
        check(Some(2), r#"{"dataset":"d","endpoints":5}"#, "[0..1, 1..2]");
        check(Some(0), r#"{"dataset":"d","endpoints":5}"#, "[0..0] rows Some(0) whole true");
        check(
            Some(10),
            r#"{"dataset":"d","offset":4,"limit":3,"endpoints":2}"#,
            "[4..6, 6..7] rows Some(3) whole false",
        );
    }

    #[test]
    fn an_offset_past_the_end_gives_no_rows() {
        check(Some(10), r#"{"dataset":"d","offset":99}"#, "[10..10] rows Some(0)");
    }

    #[test]
    fn rows_that_are_not_known_are_not_guessed() {
        check(None, r#"{"dataset":"d","endpoints":3,"limit":5}"#, "[0..5] rows None whole false");
    }
}
