use super::*;

const FORBIDDEN: &[&str] = &[
    "0.0.0.0",
    "0.1.2.3",
    "169.254.0.1",
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "192.0.0.8",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "fe80::1",
    "febf::1",
    "fe80::a9fe:a9fe",
    "ff02::1",
    "ff0e::1",
    "100::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    // The metadata address embedded in IPv6: mapped, compatible, translated, NAT64 (both prefixes),
    // 6to4, Teredo (as relay and as client), ISATAP.
    "::ffff:169.254.169.254",
    "::169.254.169.254",
    "::ffff:0:169.254.169.254",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::169.254.169.254",
    "2002:a9fe:a9fe::1",
    "2001:0:a9fe:a9fe::1",
    "2001:0:808:808::5601:5601",
    "2600::5efe:169.254.169.254",
    "::ffff:0.0.0.0",
    "::ffff:255.255.255.255",
];

const PRIVATE: &[&str] = &[
    "127.0.0.1",
    "127.255.255.254",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "100.127.255.255",
    "198.18.0.1",
    "198.19.255.255",
    "192.0.2.1",
    "198.51.100.1",
    "203.0.113.1",
    "::1",
    "fc00::1",
    "fd12:3456::1",
    "fec0::1",
    "2001:db8::1",
    "3fff:fff::1",
    "64:ff9b:1::8.8.8.8",
    "::ffff:127.0.0.1",
    "::127.0.0.1",
    "::10.0.0.1",
    "64:ff9b::10.0.0.1",
    "2002:7f00:1::",
    "2002:c0a8:101::1",
    "2001:0:808:808::80ff:fffe",
    "2600::200:5efe:192.168.0.1",
];

const PUBLIC: &[&str] = &[
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "192.0.1.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
    "3fff:1000::1",
];

fn reach_of(text: &str) -> Reach {
    reach(text.parse().unwrap())
}

#[test]
fn forbidden_addresses_are_forbidden_in_every_clothing() {
    for address in FORBIDDEN {
        assert!(matches!(reach_of(address), Forbidden(_)), "{address}: {:?}", reach_of(address));
    }
}

#[test]
fn private_addresses_are_private_in_every_clothing() {
    for address in PRIVATE {
        assert!(matches!(reach_of(address), Private(_)), "{address}: {:?}", reach_of(address));
    }
}

#[test]
fn the_neighbours_of_the_ranges_are_public() {
    for address in PUBLIC {
        assert_eq!(reach_of(address), Public, "{address}");
    }
}
