import type { Settings } from "../config/settings.ts";
import { databaseFindings } from "./check-database.ts";
import { envoyFindings } from "./check-envoy.ts";
import { fileFindings } from "./check-rules.ts";
import { storeFindings } from "./check-store.ts";
import type { Finding } from "./finding.ts";
import { listeningFindings } from "./listening.ts";
import { openFiles } from "./open-files.ts";
import { portFindings } from "./ports.ts";

/** Checks the environment of a node with these settings, as far as possible without starting it. */
export async function doctor(settings: Settings): Promise<readonly Finding[]> {
  return [
    ...listeningFindings(settings),
    ...(await portFindings(settings)),
    openFiles(),
    ...(await storeFindings(settings)),
    ...(await databaseFindings(settings)),
    ...(settings.envoyConfig === undefined ? [] : await envoyFindings(settings.envoyConfig)),
    ...(settings.rules === undefined ? [] : await fileFindings(settings.rules)),
  ];
}
