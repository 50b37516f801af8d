import type { RuleLookup } from "./checks/rule-lookup.ts";
import type { ReadSettings, SettingSources } from "./config/read-settings.ts";
import type { Settings } from "./config/settings.ts";
import type { Database } from "./database/database.ts";
import type { Finding } from "./doctor/finding.ts";
import type { RecordingReport } from "./recorder/replay-recordings.ts";
import type { Catalogue } from "./rules/catalogue.ts";
import type { Imported, ImportSource } from "./rules/import/import-rules.ts";
import type { Dimension, RateLimitRule, RuleInput } from "./rules/rule.ts";
import type { ParsedUser } from "./rules/user-input.ts";
import type { CheckedRules } from "./rules/validate-rules-file.ts";
import type { Log, OpenLog } from "./runtime/log.ts";
import type { NodeHost, RunningNode } from "./runtime/serve.ts";
import type { ReadyNode } from "./runtime/startup-message.ts";

export type { AuditQuery } from "./audit/audit.ts";
export type { RuleLookup } from "./checks/rule-lookup.ts";
export { allSettings, flagOf, variableOf } from "./config/fields.ts";
export type { ReadSettings, SettingSources, ShownSetting } from "./config/read-settings.ts";
export type { Settings } from "./config/settings.ts";
export type { Database } from "./database/database.ts";
export type { Finding } from "./doctor/finding.ts";
export type { RecordingReport } from "./recorder/replay-recordings.ts";
export { fieldAt } from "./rules/field-path.ts";
export type { Dimension, RateLimitRule, RuleInput } from "./rules/rule.ts";
export { windowText } from "./rules/rule-window.ts";
export { schemaProblem } from "./rules/schema-problem.ts";
export type { ParsedUser } from "./rules/user-input.ts";
export type { UserInput } from "./rules/user-limits.ts";
export type { RunningNode } from "./runtime/serve.ts";
export type { ReadyNode } from "./runtime/startup-message.ts";
export type { WorkerPlace } from "./workers/worker-place.ts";

// Parts are loaded on demand: reading settings does not load servers and drivers.

export async function readSettings(sources: SettingSources): Promise<ReadSettings> {
  return (await import("./config/read-settings.ts")).readSettings(sources);
}

export async function openDatabase(settings: Pick<Settings, "postgres" | "data">): Promise<Database> {
  return (await import("./database/open-database.ts")).openDatabase(settings);
}

export async function makeLog(settings: Settings, write: (line: string) => void): Promise<Log> {
  return (await import("./runtime/log.ts")).makeLog(settings, write);
}

export async function openLog(settings: Settings): Promise<OpenLog> {
  return (await import("./runtime/log.ts")).openLog(settings);
}

export async function serve(settings: Settings, log: Log, host?: NodeHost): Promise<RunningNode> {
  return (await import("./runtime/serve.ts")).serve(settings, log, host);
}

export async function keepFirstKey(settings: Settings, secret: string): Promise<string> {
  return (await import("./runtime/first-key-file.ts")).keepFirstKey(settings, secret);
}

export async function welcome(node: ReadyNode, settings: Settings, firstKeyFile?: string): Promise<string> {
  return (await import("./runtime/startup-message.ts")).welcome(node, settings, firstKeyFile);
}

/** Takes a lock that this process holds until it ends. */
export async function takeLock(path: string): Promise<void> {
  await (await import("./runtime/process-lock.ts")).ProcessLock.take(path);
}

export async function lockState(path: string): Promise<"held" | "ended" | undefined> {
  return (await import("./runtime/process-lock.ts")).lockState(path);
}

export async function doctor(settings: Settings): Promise<readonly Finding[]> {
  return (await import("./doctor/doctor.ts")).doctor(settings);
}

export async function catalogueOf(rules: readonly RateLimitRule[]): Promise<Catalogue> {
  return (await import("./rules/catalogue.ts")).Catalogue.of(rules);
}

export async function checkRules(text: string): Promise<CheckedRules> {
  return (await import("./rules/validate-rules-file.ts")).checkRules(text);
}

export async function ruleLookup(rules: readonly RuleInput[], dimension: Dimension): Promise<RuleLookup> {
  return (await import("./checks/rule-lookup.ts")).ruleLookup(rules, dimension);
}

export async function replayRecordings(
  recordings: readonly (Iterable<string> | AsyncIterable<string>)[],
): Promise<RecordingReport> {
  return (await import("./recorder/replay-recordings.ts")).replayRecordings(recordings);
}

export async function rulesOfService(rules: readonly unknown[]): Promise<readonly RuleInput[]> {
  return (await import("./rules/validate-rules-file.ts")).rulesOfService(rules);
}

export async function importRules(source: ImportSource, text: string, name: string): Promise<Imported> {
  return (await import("./rules/import/import-rules.ts")).importRules(source, text, name);
}

export async function parseUserInput(value: unknown): Promise<ParsedUser> {
  return (await import("./rules/user-input.ts")).parseUserInput(value);
}

export async function rulesText(rules: readonly RuleInput[]): Promise<string> {
  return (await import("./rules/rules-file.ts")).rulesText(rules);
}
