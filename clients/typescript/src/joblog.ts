/** The log lines of one job on their way to the server. */

export type Stream = "stdout" | "stderr";

export interface Line {
  stream: Stream;
  text: string;
}

const MAX_LINES = 200;
/** The server accepts 256 KiB per request; the rest is for JSON's punctuation and escapes. */
const MAX_BYTES = 96 * 1024;
const MAX_LINE_BYTES = 16 * 1024;
const MAX_WAITING = 10_000;
const CUT = " [cut]";

/** Bounded: lines written faster than the server accepts them are counted and dropped. */
export class JobLog {
  private lines: Line[] = [];
  private dropped = 0;
  private sending: Promise<void> = Promise.resolve();
  private isClosed = false;

  constructor(private readonly send: (lines: Line[]) => Promise<void>) {}

  add(stream: Stream, text: string): void {
    if (this.isClosed) return;
    // A lone surrogate cannot be sent, and the database does not accept a null character in text.
    const clean = Buffer.from(text).toString().replaceAll("\0", "\ufffd").replace(/\r?\n$/, "");
    for (const line of clean.split(/\r?\n/)) {
      if (this.lines.length >= MAX_WAITING) this.dropped += 1;
      else this.lines.push({ stream, text: cut(line) });
    }
    if (this.lines.length >= MAX_LINES) void this.flush();
  }

  /** The server accepts no more lines: the job has ended or belongs to another worker. */
  close(): void {
    this.isClosed = true;
    this.lines = [];
  }

  /**
   * Sends the waiting lines, one call after another, so that they arrive in order. Lines left after
   * this many milliseconds are dropped.
   */
  flush(patience = Infinity): Promise<void> {
    const until = performance.now() + patience;
    this.sending = this.sending.then(async () => {
      for (let batch = this.batch(); batch.length > 0; batch = this.batch()) {
        if (performance.now() > until) return this.close();
        await this.send(batch);
      }
    });
    return this.sending;
  }

  private batch(): Line[] {
    let size = 0;
    let count = 0;
    for (const line of this.lines) {
      size += Buffer.byteLength(line.text);
      if (count === MAX_LINES || (count > 0 && size > MAX_BYTES)) break;
      count += 1;
    }
    const batch = this.lines.splice(0, count);
    if (this.dropped > 0 && batch.length < MAX_LINES) {
      const text = `[carillon] ${this.dropped} lines were dropped: they came too fast`;
      batch.push({ stream: "stderr", text });
      this.dropped = 0;
    }
    return batch;
  }
}

/** The text cut to this many bytes, without half a character at the end. */
export function inBytes(text: string, bytes: number): string {
  const data = Buffer.from(text);
  if (data.length <= bytes) return text;
  let end = bytes;
  while (end > 0 && ((data[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return data.subarray(0, end).toString();
}

function cut(line: string): string {
  if (Buffer.byteLength(line) <= MAX_LINE_BYTES) return line;
  return inBytes(line, MAX_LINE_BYTES - CUT.length) + CUT;
}
