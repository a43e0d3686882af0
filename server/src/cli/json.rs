//! JSON on the command line.

use std::io::Read;

use serde_json::Value;

use super::CliError;

/// Parses `given` as a JSON object; if it is `-`, parses standard input instead. `what` names the
/// argument.
pub(super) fn object(what: &str, given: &str) -> Result<Value, CliError> {
    let mut read = String::new();
    let text = if given == "-" {
        let input = std::io::stdin().lock().read_to_string(&mut read);
        input.map_err(CliError::io("read standard input"))?;
        read.as_str()
    } else {
        given
    };
    let value: Value = serde_json::from_str(text)
        .map_err(|error| CliError::Usage(format!("{what} is not JSON: {error}")))?;
    if value.is_object() {
        return Ok(value);
    }
    Err(CliError::Usage(format!("{what} is not a JSON object; write it as '{{\"field\": value}}'")))
}
