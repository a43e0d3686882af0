// Verifies a Standard Webhooks signature with the specification's own library. Reads {secret,
// headers, body} as one JSON object from standard input, and prints the payload or fails.
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const { secret, headers, body } = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(new Webhook(secret).verify(body, headers)));
