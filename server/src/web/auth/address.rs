use std::net::IpAddr;

use axum::http::HeaderMap;
use ipnet::IpNet;

/// The client's address: the peer's, or, if the peer is a trusted proxy, the address that the proxy
/// names in `X-Forwarded-For`. The header is read from the right, where trusted proxies write: the
/// first address that is not a proxy's is the client's. The part to the left of it may come from
/// anyone.
pub(in crate::web) fn client(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> IpAddr {
    let is_proxy = |address: &IpAddr| proxies.iter().any(|net| net.contains(address));
    let mut client = canonical(peer);
    let named = headers.get_all("x-forwarded-for").iter().rev();
    let hops = named.flat_map(|value| value.to_str().unwrap_or_default().rsplit(','));
    for hop in hops {
        if !is_proxy(&client) {
            break;
        }
        // A trusted proxy does not write invalid addresses.
        let Ok(address) = hop.trim().parse::<IpAddr>() else { break };
        client = canonical(address);
    }
    client
}

/// Converts an IPv4-mapped IPv6 address to IPv4.
fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn seen(peer: &str, forwarded: &[&'static str]) -> String {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", HeaderValue::from_static(value));
        }
        let proxies = ["10.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()];
        client(peer.parse().unwrap(), &headers, &proxies).to_string()
    }

    #[test]
    fn a_stranger_is_where_they_are_whatever_they_write() {
        assert_eq!(seen("203.0.113.7", &["198.51.100.1"]), "203.0.113.7");
    }

    #[test]
    fn a_proxy_names_its_client() {
        assert_eq!(seen("10.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(seen("::1", &["198.51.100.1, 10.1.1.1"]), "198.51.100.1");
        assert_eq!(seen("::ffff:10.0.0.1", &["198.51.100.1", "10.1.1.1"]), "198.51.100.1");
    }

    #[test]
    fn addresses_that_a_client_wrote_are_not_believed() {
        assert_eq!(seen("10.0.0.1", &["6.6.6.6, 198.51.100.1"]), "198.51.100.1");
        assert_eq!(seen("10.0.0.1", &["198.51.100.1, nonsense"]), "10.0.0.1");
        assert_eq!(seen("10.0.0.1", &[]), "10.0.0.1");
    }
}
