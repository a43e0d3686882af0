//! Frames of AMQP 0-9-1, as far as a publisher needs them.

use super::{
    big_endian::{Read, Write},
    problem::PublishProblem,
};

pub(super) const METHOD: u8 = 1;
pub(super) const HEADER: u8 = 2;
pub(super) const BODY: u8 = 3;
pub(super) const HEARTBEAT: u8 = 8;
/// The class of messages.
pub(super) const BASIC: u16 = 60;
/// The size of a frame without its payload.
pub(super) const FRAME_OVERHEAD: usize = 8;
/// Maximum length of a text whose length is encoded in one byte.
pub(super) const MAX_SHORT: usize = 255;

const HEAD: usize = 7;
const END: u8 = 0xCE;
const MAX_PAYLOAD: usize = 1024 * 1024;

/// Class and number of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MethodId(u16, u16);

impl MethodId {
    pub(super) const START: Self = Self(10, 10);
    pub(super) const START_OK: Self = Self(10, 11);
    pub(super) const TUNE: Self = Self(10, 30);
    pub(super) const TUNE_OK: Self = Self(10, 31);
    pub(super) const OPEN: Self = Self(10, 40);
    pub(super) const OPEN_OK: Self = Self(10, 41);
    pub(super) const CLOSE: Self = Self(10, 50);
    pub(super) const CLOSE_OK: Self = Self(10, 51);
    pub(super) const BLOCKED: Self = Self(10, 60);
    pub(super) const UNBLOCKED: Self = Self(10, 61);
    pub(super) const CHANNEL_OPEN: Self = Self(20, 10);
    pub(super) const CHANNEL_CLOSE: Self = Self(20, 40);
    pub(super) const CHANNEL_CLOSE_OK: Self = Self(20, 41);
    pub(super) const PUBLISH: Self = Self(BASIC, 40);
    pub(super) const RETURN: Self = Self(BASIC, 50);
    pub(super) const ACK: Self = Self(BASIC, 80);
    pub(super) const NACK: Self = Self(BASIC, 120);
    pub(super) const CONFIRM_SELECT: Self = Self(85, 10);
}

/// A received frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: u8,
    pub(super) channel: u16,
    pub(super) payload: Vec<u8>,
}

impl Frame {
    /// The method that the frame calls, if it calls one: then its payload has at least four bytes.
    pub(super) fn method(&self) -> Option<MethodId> {
        match (self.kind, &*self.payload) {
            (METHOD, [a, b, c, d, ..]) => {
                Some(MethodId(u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])))
            }
            _ => None,
        }
    }
}

pub(super) fn broken() -> PublishProblem {
    PublishProblem::broken("the server does not speak AMQP 0-9-1")
}

/// How many bytes are missing from the frame at the beginning of `input`.
pub(super) fn missing(input: &[u8]) -> Result<usize, PublishProblem> {
    let Some(head) = input.first_chunk::<HEAD>() else { return Ok(HEAD - input.len()) };
    Ok((HEAD + size(*head)? + 1).saturating_sub(input.len()))
}

/// The frame at the beginning of `input`, and its length; `None` while the frame is incomplete.
pub(super) fn read(input: &[u8]) -> Result<Option<(Frame, usize)>, PublishProblem> {
    let Some(head) = input.first_chunk::<HEAD>() else { return Ok(None) };
    let size = size(*head)?;
    let Some(end) = input.get(HEAD + size) else { return Ok(None) };
    if *end != END {
        return Err(broken());
    }
    let payload = input[HEAD..HEAD + size].to_vec();
    let frame = Frame { kind: head[0], channel: u16::from_be_bytes([head[1], head[2]]), payload };
    Ok(Some((frame, HEAD + size + 1)))
}

/// Appends a frame with this payload.
pub(super) fn write(out: &mut Vec<u8>, kind: u8, channel: u16, payload: &[u8]) {
    out.push(kind);
    out.extend(channel.to_be_bytes());
    out.extend(u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend(payload);
    out.push(END);
}

fn size([kind, _, _, a, b, c, d]: [u8; HEAD]) -> Result<usize, PublishProblem> {
    // A server that does not support this version answers with its own version, which begins with a
    // letter.
    let size = usize::try_from(u32::from_be_bytes([a, b, c, d])).map_err(|_| broken())?;
    if size > MAX_PAYLOAD || !matches!(kind, METHOD | HEADER | BODY | HEARTBEAT) {
        return Err(broken());
    }
    Ok(size)
}

/// The message id in the header of a message that Carillon wrote.
pub(super) fn message_id(header: &[u8]) -> Result<String, PublishProblem> {
    let mut reader = AmqpReader::new(header);
    let _class_weight_size = (reader.u32()?, reader.u64()?);
    let flags = reader.u16()?;
    if flags & (1 << 15) != 0 {
        reader.short()?;
    }
    if flags & (1 << 13) != 0 {
        let length = reader.u32()?;
        reader.take(usize::try_from(length).map_err(|_| broken())?)?;
    }
    if flags & (1 << 12) != 0 {
        reader.u8()?;
    }
    if flags & (1 << 7) != 0 { reader.short() } else { Ok(String::new()) }
}

/// Reads the arguments of a method.
pub(super) struct AmqpReader<'a>(&'a [u8]);

impl<'a> Read<'a> for AmqpReader<'a> {
    fn rest(&mut self) -> &mut &'a [u8] {
        &mut self.0
    }

    fn broken() -> PublishProblem {
        broken()
    }
}

impl<'a> AmqpReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn short(&mut self) -> Result<String, PublishProblem> {
        let length = self.u8()?;
        Ok(String::from_utf8_lossy(self.take(length.into())?).into_owned())
    }
}

/// Writes a payload, and frames around it.
#[derive(Default)]
pub(super) struct AmqpWriter(Vec<u8>);

impl Write for AmqpWriter {
    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self
    }
}

impl AmqpWriter {
    pub(super) fn method(MethodId(class, number): MethodId) -> Self {
        let mut writer = Self::default();
        writer.u16(class).u16(number);
        writer
    }

    /// Writes a text of at most 255 bytes, as the check of the definition ensures.
    pub(super) fn short(&mut self, text: &str) -> &mut Self {
        let text = &text.as_bytes()[..text.len().min(MAX_SHORT)];
        self.u8(u8::try_from(text.len()).unwrap_or(u8::MAX)).raw(text)
    }

    pub(super) fn long(&mut self, bytes: &[u8]) -> &mut Self {
        self.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX)).raw(bytes)
    }

    pub(super) fn table(&mut self, fill: impl FnOnce(&mut Table)) -> &mut Self {
        let mut table = Table(Self::default());
        fill(&mut table);
        self.long(&table.0.0)
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.0
    }

    /// The frame of a method.
    pub(super) fn frame(&self, channel: u16) -> Vec<u8> {
        self.frame_of(METHOD, channel)
    }

    pub(super) fn frame_of(&self, kind: u8, channel: u16) -> Vec<u8> {
        let mut frame = Vec::with_capacity(FRAME_OVERHEAD + self.0.len());
        write(&mut frame, kind, channel, &self.0);
        frame
    }
}

/// Names with values.
pub(super) struct Table(AmqpWriter);

impl Table {
    pub(super) fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.0.short(name).u8(b'S').long(value.as_bytes());
        self
    }

    pub(super) fn flag(&mut self, name: &str) -> &mut Self {
        self.0.short(name).u8(b't').u8(1);
        self
    }

    pub(super) fn table(&mut self, name: &str, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.0.short(name).u8(b'F').table(fill);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_when_it_is_whole() {
        let mut writer = AmqpWriter::method(MethodId::ACK);
        writer.u64(7).u8(1);
        let bytes = writer.frame(3);
        for end in 0..bytes.len() {
            assert_eq!(read(&bytes[..end]), Ok(None), "{end}");
            assert!(missing(&bytes[..end]).unwrap() > 0, "{end}");
        }
        assert_eq!(missing(&bytes), Ok(0));
        let (frame, length) = read(&bytes).unwrap().unwrap();
        assert_eq!((frame.method(), frame.channel, length), (Some(MethodId::ACK), 3, bytes.len()));
        let mut reader = AmqpReader::new(&frame.payload[4..]);
        assert_eq!((reader.u64(), reader.u8()), (Ok(7), Ok(1)));
        assert!(reader.u8().is_err());
    }

    #[test]
    fn bytes_that_are_not_a_frame_are_refused() {
        assert!(read(b"AMQP\0\0\x09\x01").is_err());
        assert!(read(b"\x01\0\0\0\0\0\x01x!").is_err());
    }
}
