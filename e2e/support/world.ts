import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Server } from "./server.ts";

/** Deploys a module with the command line, as a pipeline would. */
export function deploy(server: Server, name: string, source: string): void {
  const file = join(server.folder, `${name}.yaml`);
  writeFileSync(file, source);
  server.cli(["apply", file]);
}

/**
 * Pauses the schedules of a module, once its tests are over. What fires every second or two would otherwise take time
 * from all tests that follow on the same server.
 */
export async function rest(server: Server, name: string, namespace = "default"): Promise<void> {
  const pause = `mutation ($which: ManyInput!) {
    pauseSchedules(which: $which, reason: "its tests are over") { matched }
  }`;
  await server.ask(pause, { which: { namespace, search: `module:${name}` } });
}
