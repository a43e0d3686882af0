import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Server } from "./server.ts";

/** Deploys a module with the command line, as a pipeline would. */
export function deploy(server: Server, name: string, source: string): void {
  const file = join(server.folder, `${name}.yaml`);
  writeFileSync(file, source);
  server.cli(["apply", file]);
}
