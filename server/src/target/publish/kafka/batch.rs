//! Records as a broker stores them: a batch in format version 2.

use super::wire::KafkaWriter;
use crate::target::publish::big_endian::Write;

/// A record to publish.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) key: Option<Vec<u8>>,
    pub(super) value: Vec<u8>,
    pub(super) headers: Vec<(String, Vec<u8>)>,
    /// Timestamp in milliseconds.
    pub(super) at: i64,
}

impl Record {
    /// The record's approximate size in bytes.
    pub(super) fn size(&self) -> usize {
        let headers = self.headers.iter().map(|(name, value)| name.len() + value.len() + 8);
        self.value.len() + self.key.as_ref().map_or(0, Vec::len) + headers.sum::<usize>() + 32
    }
}

/// The producer of a batch, and the batch's sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Producer {
    pub(super) id: i64,
    pub(super) epoch: i16,
    pub(super) sequence: i32,
}

/// Encodes records as one batch.
pub(super) fn batch(records: &[Record], producer: Producer) -> Vec<u8> {
    let first = records.iter().map(|record| record.at).min().unwrap_or(0);
    let last = records.iter().map(|record| record.at).max().unwrap_or(0);
    let mut checked = KafkaWriter::default();
    let count = i32::try_from(records.len()).unwrap_or(i32::MAX);
    checked.i16(0).i32(count - 1).i64(first).i64(last);
    checked.i64(producer.id).i16(producer.epoch).i32(producer.sequence).i32(count);
    for (index, record) in records.iter().enumerate() {
        let mut written = KafkaWriter::default();
        written.i8(0).varint(record.at - first).varint(i64::try_from(index).unwrap_or(0));
        match &record.key {
            Some(key) => written.var_bytes(key),
            None => written.varint(-1),
        };
        written.var_bytes(&record.value);
        written.varint(i64::try_from(record.headers.len()).unwrap_or(0));
        for (name, value) in &record.headers {
            written.var_bytes(name.as_bytes()).var_bytes(value);
        }
        checked.var_bytes(&written.0);
    }
    // Base offset, length, leader epoch, magic, checksum.
    let mut whole = KafkaWriter::default();
    whole.i64(0).length(checked.0.len() + 9).i32(-1).i8(2);
    whole.raw(&crc32c(&checked.0).to_be_bytes()).raw(&checked.0);
    whole.0
}

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ 0x82f6_3b78 } else { rest >> 1 };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
}

/// The CRC-32C checksum (Castagnoli).
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |rest: u32, byte: &u8| rest >> 8 ^ TABLE[usize::from(rest.to_le_bytes()[0] ^ byte)];
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_castagnolis() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn a_batch_says_how_long_it_is() {
        let record = Record {
            key: Some(b"k".to_vec()),
            value: b"v".to_vec(),
            headers: vec![("a".to_owned(), b"b".to_vec())],
            at: 7,
        };
        let producer = Producer { id: 1, epoch: 2, sequence: 3 };
        let bytes = batch(&[record.clone(), record], producer);
        let length = i32::from_be_bytes(bytes[8..12].try_into().unwrap());
        assert_eq!(usize::try_from(length).unwrap(), bytes.len() - 12);
        assert_eq!(bytes[16], 2);
    }
}
