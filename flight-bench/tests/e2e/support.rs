//! Runs flight-bench and reads what it says; makes data whose size is known.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{Float64Array, Int64Array, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use flight_testkit::{ServerCommand, ServerProcess};
use serde_json::Value;
use tempfile::TempDir;

/// Batches, rows and bytes of the values of [`known`].
pub(crate) const BATCHES: u64 = 10;
pub(crate) const ROWS: u64 = 1_000_000;
pub(crate) const BYTES: u64 = 16_000_000;

/// A finished flight-bench.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

/// Runs flight-bench with the words of `line` behind `target`.
pub(crate) fn bench(line: &str) -> Run {
    finished(command(line))
}

/// flight-bench with the words of `line`, and none of the caller's `FLIGHT_…` variables.
pub(crate) fn command(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flight-bench"));
    command.args(line.split_whitespace()).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("FLIGHT_") {
            command.env_remove(name);
        }
    }
    command.env("FLIGHT_BENCH_NO_SAVE", "true");
    command
}

pub(crate) fn finished(mut command: Command) -> Run {
    let started = Instant::now();
    let output = command.output().expect("flight-bench starts");
    Run::of(&output, started.elapsed())
}

impl Run {
    pub(crate) fn of(output: &Output, took: Duration) -> Self {
        Self {
            code: output.status.code().expect("flight-bench is not killed by a signal"),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            took,
        }
    }

    /// Fails unless it ended with this code.
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// The JSON on stdout: one document, whatever happened, that follows the schema.
    pub(crate) fn json(&self) -> Value {
        self.json_of("run")
    }

    /// The same of another document than a run's: `ab`, `compare` or `ladder`.
    pub(crate) fn json_of(&self, kind: &str) -> Value {
        let document = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.stdout, self.stderr));
        follows(kind, &document);
        document
    }
}

/// Holds a document against its schema in docs/.
pub(crate) fn follows(kind: &str, document: &Value) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let schema = std::fs::read_to_string(docs.join(format!("flight-bench.{kind}.schema.json")));
    let schema = serde_json::from_str(&schema.expect("the schema")).expect("the schema is JSON");
    let schema = jsonschema::validator_for(&schema).expect("the schema is a JSON Schema");
    let errors: Vec<String> =
        schema.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// A number of the document, by JSON pointer.
pub(crate) fn number(document: &Value, pointer: &str) -> f64 {
    document
        .pointer(pointer)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("no number at {pointer} in {document:#}"))
}

pub(crate) fn count(document: &Value, pointer: &str) -> u64 {
    document
        .pointer(pointer)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("no count at {pointer} in {document:#}"))
}

/// The sum of a count over all repeats.
pub(crate) fn total(document: &Value, key: &str) -> u64 {
    let repeats = document["repeats"].as_array().expect("a list of repeats");
    repeats.iter().map(|repeat| count(&repeat["counts"], &format!("/{key}"))).sum()
}

/// Ten batches of 100 000 rows of int64 and float64, without nulls: 16 000 000 bytes of values.
pub(crate) fn known(folder: &Path) {
    let batch = |index: u64| {
        let first = index as i64 * 100_000;
        let numbers = Int64Array::from_iter_values(first..first + 100_000);
        let halves = Float64Array::from_iter_values((0..100_000).map(|i| f64::from(i) / 2.0));
        RecordBatch::try_new(known_schema(), vec![Arc::new(numbers), Arc::new(halves)])
            .expect("two columns of the schema")
    };
    write(&folder.join("known.feather"), (0..BATCHES).map(batch));
}

/// A dataset without a single batch.
pub(crate) fn empty(folder: &Path) {
    write(&folder.join("empty.feather"), std::iter::empty());
}

pub(crate) fn known_schema() -> SchemaRef {
    let field = |name, data_type| Field::new(name, data_type, false);
    Arc::new(Schema::new(vec![field("n", DataType::Int64), field("x", DataType::Float64)]))
}

fn write(path: &Path, batches: impl Iterator<Item = RecordBatch>) {
    let file = File::create(path).expect("a new file in a temporary folder");
    let mut writer = FileWriter::try_new(file, &known_schema()).expect("a schema of two columns");
    for batch in batches {
        writer.write(&batch).expect("room for 16 MB");
    }
    writer.finish().expect("room for a footer");
}

/// A server in plaintext over the known dataset, and the folder it serves.
pub(crate) fn serve_known() -> (ServerProcess, TempDir) {
    let folder = TempDir::new().expect("a temporary folder");
    known(folder.path());
    (ServerCommand::serve(folder.path()).args(["--admin", "none"]).start(), folder)
}
