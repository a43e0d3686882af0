use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The class of an address, which decides whether requests may reach it, ordered from open to
/// closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// An address on the internet.
    Public,
    /// An address within the node or its own networks: reached only if the configuration allows it.
    Private(&'static str),
    /// An address that is never reached.
    Forbidden(&'static str),
}

use Reach::{Forbidden, Private, Public};

/// Classifies an address.
pub(super) fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    }
}

fn v4(address: Ipv4Addr) -> Reach {
    match address.octets() {
        // Metadata services outside the link-local range: Alibaba, Azure, Oracle.
        [100, 100, 100, 200] | [168, 63, 129, 16] | [192, 0, 0, 192] => {
            Forbidden("a cloud metadata address")
        }
        // On Linux 0.0.0.0 is the node itself; the other addresses are not valid destinations.
        [0, ..] => Forbidden("an unspecified address"),
        [169, 254, ..] => Forbidden("a link-local address"),
        [224..=239, ..] => Forbidden("a multicast address"),
        [255, 255, 255, 255] => Forbidden("the broadcast address"),
        [240..=255, ..] | [192, 0, 0, _] => Forbidden("a reserved address"),
        [127, ..] => Private("a loopback address"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Private("a private address"),
        [100, 64..=127, ..] => Private("a carrier-grade NAT address"),
        [198, 18..=19, ..] => Private("a benchmarking address"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Private("a documentation address"),
        _ => Public,
    }
}

fn v6(address: Ipv6Addr) -> Reach {
    let own = match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Forbidden("an unspecified address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Private("a loopback address"),
        // Metadata services on unique local addresses: AWS, Google.
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254] => {
            Forbidden("a cloud metadata address")
        }
        [0xfe80..=0xfebf, ..] => Forbidden("a link-local address"),
        [0xff00..=0xffff, ..] => Forbidden("a multicast address"),
        [0x100, 0, 0, 0, ..] => Forbidden("a discard address"),
        [0xfc00..=0xfdff, ..] => Private("a unique local address"),
        [0xfec0..=0xfeff, ..] => Private("a site-local address"),
        [0x64, 0xff9b, 1, ..] => Private("a local NAT64 address"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Private("a documentation address"),
        _ => Public,
    };
    embedded(address).map(v4).fold(own, Reach::max)
}

/// The IPv4 addresses to which an IPv6 address leads, or may lead through a translator.
fn embedded(address: Ipv6Addr) -> impl Iterator<Item = Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let tail = Some(joined(g, h));
    let (first, second) = match [a, b, c, d, e, f] {
        // `::` and `::1` have their own classes; they are not checked as 0.0.0.0 and 0.0.0.1.
        [0, 0, 0, 0, 0, 0] if g == 0 && h <= 1 => (None, None),
        // Compatible, mapped, translated (RFC 2765), NAT64 with the well-known prefix.
        [0, 0, 0, 0, 0, 0 | 0xffff] | [0, 0, 0, 0, 0xffff, 0] | [0x64, 0xff9b, 0, 0, 0, 0] => {
            (tail, None)
        }
        // NAT64 with a local prefix, usually of 96 bits.
        [0x64, 0xff9b, 1, ..] => (tail, None),
        // 6to4.
        [0x2002, ..] => (Some(joined(b, c)), None),
        // Teredo: the relay's address unchanged, the client's inverted.
        [0x2001, 0, ..] => (Some(joined(c, d)), Some(joined(!g, !h))),
        // ISATAP, under any prefix.
        [.., 0 | 0x200, 0x5efe] => (tail, None),
        _ => (None, None),
    };
    first.into_iter().chain(second)
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
