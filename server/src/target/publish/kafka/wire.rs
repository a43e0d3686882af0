use crate::target::publish::{
    big_endian::{Read, Write},
    problem::PublishProblem,
};

pub(super) fn broken() -> PublishProblem {
    PublishProblem::broken("the broker does not speak Kafka's protocol")
}

/// Encodes the types of Kafka's protocol.
#[derive(Default)]
pub(super) struct KafkaWriter(pub(super) Vec<u8>);

impl Write for KafkaWriter {
    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self
    }
}

impl KafkaWriter {
    pub(super) fn string(&mut self, text: &str) -> &mut Self {
        self.i16(i16::try_from(text.len()).unwrap_or(i16::MAX)).raw(text.as_bytes())
    }

    pub(super) fn no_string(&mut self) -> &mut Self {
        self.i16(-1)
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.length(bytes.len()).raw(bytes)
    }

    pub(super) fn length(&mut self, length: usize) -> &mut Self {
        self.i32(i32::try_from(length).unwrap_or(i32::MAX))
    }

    /// Writes a variable-length number in zigzag encoding.
    pub(super) fn varint(&mut self, value: i64) -> &mut Self {
        let mut rest = (value << 1 ^ value >> 63).cast_unsigned();
        while rest >= 0x80 {
            self.0.push((rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        self.0.push((rest & 0x7f) as u8);
        self
    }

    pub(super) fn var_bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.varint(i64::try_from(bytes.len()).unwrap_or(i64::MAX)).raw(bytes)
    }
}

/// Decodes the types of Kafka's protocol.
pub(super) struct KafkaReader<'a>(&'a [u8]);

impl<'a> Read<'a> for KafkaReader<'a> {
    fn rest(&mut self) -> &mut &'a [u8] {
        &mut self.0
    }

    fn broken() -> PublishProblem {
        broken()
    }
}

impl<'a> KafkaReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn skip(&mut self, count: usize) -> Result<(), PublishProblem> {
        self.take(count).map(drop)
    }

    /// Reads a text; an absent one becomes empty.
    pub(super) fn string(&mut self) -> Result<String, PublishProblem> {
        let length = usize::try_from(self.i16()?).unwrap_or(0);
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], PublishProblem> {
        let length = usize::try_from(self.i32()?).unwrap_or(0);
        self.take(length)
    }

    /// Reads a list; `item` reads each item.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, PublishProblem>,
    ) -> Result<Vec<T>, PublishProblem> {
        let mut items = Vec::new();
        for _ in 0..self.i32()? {
            items.push(item(self)?);
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_variable_length_are_zigzag() {
        for (value, bytes) in [
            (0, &[0][..]),
            (-1, &[1]),
            (1, &[2]),
            (63, &[126]),
            (64, &[0x80, 1]),
            (-65, &[0x81, 1]),
            (300, &[0xd8, 4]),
        ] {
            let mut writer = KafkaWriter::default();
            writer.varint(value);
            assert_eq!(writer.0, bytes, "{value}");
        }
    }

    #[test]
    fn an_answer_that_is_too_short_is_refused() {
        assert!(KafkaReader::new(&[0, 5, b'a']).string().is_err());
        assert!(KafkaReader::new(&[0, 0, 0, 9]).bytes().is_err());
        assert_eq!(KafkaReader::new(&[0xff, 0xff]).string().unwrap(), "");
    }
}
