//! Secrets inside targets: they are masked wherever a definition is shown, and kept when an edit
//! sends the mask back.
//!
//! - `mask`: masks the secrets of a target; `context`: masks those in JSON
//! - `retain`: restores the secrets behind returned masks
//! - `vault`: setting and deleting secrets; `rotation`: re-encrypting them with another key
//! - `literal`: refuses literal credentials
//! - `watchdog`: checks the addresses that a schedule calls
//! - `unset`: secrets that definitions use but that are not set

mod context;
pub(super) mod literal;
mod mask;
mod retain;
pub(super) mod rotation;
pub(super) mod unset;
pub(super) mod vault;
pub(crate) mod watchdog;

pub(super) use self::mask::origin;
pub(crate) use self::{
    context::{is_secret, masked_json, unmasked_json},
    mask::{holds_any, masked, masked_url},
    retain::{KEPT_REDIRECTS, retain, unmask},
};
pub(crate) use crate::target::is_reference;
