//! Documents held against the JSON Schemas of docs/.

use serde_json::Value;

/// The document, which follows its schema; each of its keys is missed when it is taken away.
pub(crate) fn check(schema: &str, text: &str) -> Value {
    // serde_json takes no NaN and no infinity, as strict JSON wants.
    let document: Value = serde_json::from_str(text).expect("one JSON document");
    let schema = serde_json::from_str(schema).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is a JSON Schema");
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    for key in document.as_object().expect("an object").keys() {
        let mut without = document.clone();
        without.as_object_mut().expect("an object").remove(key);
        // Added since the first version, or the schema does not know it.
        let known = schema["properties"].get(key).is_some();
        assert!(known, "{key} is not in the schema");
        assert!(!validator.is_valid(&without) || key == "thresholds", "{key} may be missing");
    }
    document
}
