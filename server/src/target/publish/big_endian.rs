//! Numbers in network byte order, written and read: shared by the codecs of AMQP and Kafka.

use super::problem::PublishProblem;

/// A buffer to which bytes can be appended.
pub(super) trait Write {
    fn raw(&mut self, bytes: &[u8]) -> &mut Self;

    fn u8(&mut self, value: u8) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    fn u16(&mut self, value: u16) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    fn i8(&mut self, value: i8) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    fn i16(&mut self, value: i16) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    fn i32(&mut self, value: i32) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    fn i64(&mut self, value: i64) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }
}

/// A buffer from which bytes can be read.
pub(super) trait Read<'a> {
    /// The remaining bytes.
    fn rest(&mut self) -> &mut &'a [u8];

    /// The error if too few bytes remain.
    fn broken() -> PublishProblem;

    fn take(&mut self, count: usize) -> Result<&'a [u8], PublishProblem> {
        let rest = self.rest();
        let (taken, left) = rest.split_at_checked(count).ok_or_else(Self::broken)?;
        *rest = left;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], PublishProblem> {
        self.take(N)?.try_into().map_err(|_| Self::broken())
    }

    fn u8(&mut self) -> Result<u8, PublishProblem> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    fn u16(&mut self) -> Result<u16, PublishProblem> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, PublishProblem> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, PublishProblem> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    fn i16(&mut self) -> Result<i16, PublishProblem> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    fn i32(&mut self) -> Result<i32, PublishProblem> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    fn i64(&mut self) -> Result<i64, PublishProblem> {
        Ok(i64::from_be_bytes(self.array()?))
    }
}
