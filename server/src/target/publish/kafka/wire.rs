use crate::target::publish::problem::Problem;

pub(super) fn broken() -> Problem {
    Problem::broken("the broker does not speak as Kafka does")
}

/// Writes what Kafka's protocol is made of.
#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self
    }

    pub(super) fn i8(&mut self, value: i8) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    pub(super) fn i16(&mut self, value: i16) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    pub(super) fn i32(&mut self, value: i32) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    pub(super) fn i64(&mut self, value: i64) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

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

    /// A number of variable length, in zigzag.
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

/// Reads what Kafka's protocol is made of.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Problem> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(broken)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Problem> {
        self.take(N)?.try_into().map_err(|_| broken())
    }

    pub(super) fn skip(&mut self, count: usize) -> Result<(), Problem> {
        self.take(count).map(drop)
    }

    pub(super) fn i16(&mut self) -> Result<i16, Problem> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    pub(super) fn i32(&mut self) -> Result<i32, Problem> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub(super) fn i64(&mut self) -> Result<i64, Problem> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// A text; an absent one is empty.
    pub(super) fn string(&mut self) -> Result<String, Problem> {
        let length = usize::try_from(self.i16()?).unwrap_or(0);
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Problem> {
        let length = usize::try_from(self.i32()?).unwrap_or(0);
        self.take(length)
    }

    /// A list, each item read by `item`.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
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
            let mut writer = Writer::default();
            writer.varint(value);
            assert_eq!(writer.0, bytes, "{value}");
        }
    }

    #[test]
    fn what_is_too_short_is_refused() {
        assert!(Reader::new(&[0, 5, b'a']).string().is_err());
        assert!(Reader::new(&[0, 0, 0, 9]).bytes().is_err());
        assert_eq!(Reader::new(&[0xff, 0xff]).string().unwrap(), "");
    }
}
