import type { RuleInput } from "../rule.ts";
import { importEnvoy } from "./import-envoy.ts";
import { importLimitador } from "./import-limitador.ts";
import { importNginx } from "./import-nginx.ts";
import { ImportedRules } from "./imported-rules.ts";

const IMPORTS = { envoy: importEnvoy, limitador: importLimitador, nginx: importNginx } as const;

/** The limiters whose configuration can be converted. */
export type ImportSource = keyof typeof IMPORTS;

export interface Imported {
  readonly rules: readonly RuleInput[];
  /** What has no equivalent, with its line. */
  readonly notes: readonly string[];
}

/** Converts the configuration of another limiter to rules. Throws a RulesFileError if it cannot be read. */
export function importRules(source: ImportSource, text: string, name: string): Imported {
  const imported = new ImportedRules(name);
  IMPORTS[source](text, name, imported);
  return imported;
}
