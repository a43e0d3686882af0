//! Tests of the calculator against vectors, oracles and its own laws.

#![expect(clippy::expect_used, reason = "a helper of a test fails the test by panicking")]

mod calendars;
mod errors;
mod expressions;
mod hostile;
mod laws;
mod oracle;
mod support;
mod vectors;
mod words;
mod zones;
