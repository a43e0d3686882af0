//! The form in which a mutation is stored under its idempotency key.

use async_graphql::InputType;

use crate::commands::{BadInput, Call};

/// A call with its input. If it has no key, its input is never compared with another.
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
