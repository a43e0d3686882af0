// A mail server for the tests of alerts. It accepts mails and prints each as one line of JSON. A
// line of standard input changes its behaviour, and the server prints that it has changed. It ends
// together with its standard input.
//
//   node smtp.mjs CERTIFICATE KEY [MANNER]
//
//   busy        refuses the next mail, like a server without free space
//   closed      refuses every connection
//   stranger    refuses the sender
//   scarce N    accepts N mails, and after that no connection
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { SMTPServer } from "smtp-server";

const [certificate, key, first = ""] = process.argv.slice(2);
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const refusal = (responseCode, text) => Object.assign(new Error(text), { responseCode });
let refusals, isClosed, isStranger, room;
const become = (manner) => {
  const [word, count] = manner.split(" ");
  refusals = word === "busy" ? 1 : 0;
  isClosed = word === "closed";
  isStranger = word === "stranger";
  room = word === "scarce" ? Number(count) : Infinity;
};
become(first);

const server = new SMTPServer({
  cert: readFileSync(certificate),
  key: readFileSync(key),
  authMethods: ["PLAIN", "LOGIN"],
  logger: false,
  onConnect(session, done) {
    if (isClosed) return done(refusal(554, "No SMTP service here"));
    done(room > 0 ? undefined : refusal(421, "Too many connections"));
  },
  onAuth({ username, password }, session, done) {
    const known = username === "carillon" && password === "hush hush";
    done(known ? null : new Error("Invalid username or password"), known ? { user: username } : undefined);
  },
  onMailFrom(address, session, done) {
    done(isStranger ? refusal(550, "Sender rejected") : undefined);
  },
  onRcptTo({ address }, session, done) {
    done(address.startsWith("gone@") ? refusal(550, "No such user") : undefined);
  },
  onData(stream, session, done) {
    const parts = [];
    stream.on("data", (part) => parts.push(part));
    stream.on("end", () => {
      if (refusals > 0) {
        refusals -= 1;
        print({ refused: true });
        return done(refusal(452, "Insufficient system storage"));
      }
      room -= 1;
      const { mailFrom, rcptTo } = session.envelope;
      print({
        secure: session.secure,
        user: session.user ?? null,
        from: mailFrom.address,
        to: rcptTo.map((to) => to.address),
        raw: Buffer.concat(parts).toString("utf8"),
      });
      done();
    });
  },
});
server.on("error", (error) => print({ error: String(error) }));
server.listen(0, "127.0.0.1", () => print({ port: server.server.address().port }));
createInterface({ input: process.stdin })
  .on("line", (manner) => {
    become(manner);
    print({ manner });
  })
  .on("close", () => process.exit(0));
