//! The form in which an idempotency key remembers a mutation.

use async_graphql::InputType;

use crate::commands::{BadInput, Call};

/// A call with its input. Without a key, the input is never compared with another one.
pub(super) fn call(
    name: &str,
    input: &impl InputType,
    key: Option<String>,
) -> Result<Call, BadInput> {
    if key.is_none() { Ok(Call::once()) } else { Call::new(name, &text(input), key) }
}

/// An input as text, equal for equal values, with defaults filled in.
pub(super) fn text(input: &impl InputType) -> String {
    InputType::to_value(input).to_string()
}
