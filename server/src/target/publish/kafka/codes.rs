//! The meaning of the brokers' error codes for a producer.

pub(super) const NONE: i16 = 0;
pub(super) const UNKNOWN_TOPIC: i16 = 3;
/// The broker has already stored this batch.
pub(super) const DUPLICATE: i16 = 46;

/// Whether the same batch may be accepted a moment later, by this broker or by another.
pub(super) fn passes(code: i16) -> bool {
    matches!(code, 3 | 5 | 6 | 7 | 8 | 9 | 13 | 14 | 15 | 16 | 19 | 20 | 56 | 74)
}

/// Whether a batch may be refused with this code because of a single one of its records: it is too
/// large (10, and 18 for a whole batch), or its time, key or value is not accepted (32, 44, 87).
pub(super) fn is_for_record(code: i16) -> bool {
    matches!(code, 10 | 18 | 32 | 44 | 87)
}

/// A description of the error.
pub(super) fn text(code: i16) -> String {
    let words = match code {
        2 => "the event was corrupted in transit",
        3 => "there is no such topic or partition",
        5 => "the partition has no leader",
        6 => "the broker does not lead the partition",
        7 => "the replicas did not confirm the event in time",
        10 => "the event is larger than the broker accepts (message.max.bytes)",
        17 => "that is not the name of a topic",
        18 => "the event is larger than a segment of the topic",
        19 | 20 => "too few replicas are in sync (min.insync.replicas)",
        29 => "this client may not write to that topic",
        31 => "this client may not use the cluster",
        32 => "the broker does not accept the event's time",
        33 => "the broker does not know this way to sign in",
        34 => "this client is not signed in",
        35 => "the broker does not know this version of the protocol",
        45 | 47 | 59 | 90 => {
            "the broker has forgotten this client; it is unknown whether it has the event"
        }
        44 => "the topic's rules do not allow the event",
        46 => "the broker mistakes the event for another one",
        53 => "this client may not write idempotently",
        56 => "the broker cannot write to its disk",
        58 => "name or password is wrong",
        87 => "the broker does not accept the event",
        _ => return format!("the broker answered with the error {code}"),
    };
    format!("{words} (error {code})")
}
