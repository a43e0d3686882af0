//! Where requests may go: the guard against server-side request forgery.
//!
//! Anyone who may save a target can make this server send requests, so a target must not give
//! access to what only the server can reach: the cloud's metadata service, the node itself, the
//! network behind it. There are two restricted classes of addresses. *Forbidden* ones (unspecified,
//! link-local, multicast, broadcast, reserved, cloud metadata) are never reached; *private* ones
//! (loopback, private ranges, carrier NAT) only if the configuration says so. An IPv6 address that
//! contains an IPv4 address is checked as both.
//!
//! No connection is opened to an address that was not checked. This invariant holds because there
//! are two ways to an address, and both are guarded. A host that is an address is checked before
//! each request and each redirect ([`Egress::admit`]). A name goes through the client's resolver
//! ([`Resolver`]), which returns only checked addresses, so the checked address is the one that is
//! connected to, and a name that resolves differently in between gains nothing. No proxy is used,
//! because a proxy would connect without a check.
//!
//! - `address`: classifies an address; pure
//! - `guard`: checks a URL
//! - `resolver`: resolves names for the client; `lookups`: how many at once

mod address;
mod guard;
mod lookups;
mod resolver;

pub(super) use guard::{Egress, NameRefused};
pub(super) use lookups::for_namespace;
pub(super) use resolver::Resolver;
