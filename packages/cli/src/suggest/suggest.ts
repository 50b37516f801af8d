import { type AlgorithmName, algorithms } from "headgate";
import { type Dimension, type RuleInput, ruleLookup, rulesOfService, rulesText } from "headgate-server";
import { countText, SpooledRequests, type SuggestedLimit, shareText, suggestLimits } from "headgate-simulator";
import { type ExitCode, exitCodes, InvalidInput } from "../failure.ts";
import { numberIn } from "../replay/number-option.ts";
import { countLines, type LogFieldOptions, notesOn, openLogs, readLogs } from "../replay/open-logs.ts";
import { readRules } from "../rules/read-rules.ts";

export interface SuggestCommandOptions extends LogFieldOptions {
  readonly rule?: string;
  readonly denyAtMost?: string;
  readonly rules?: string;
  readonly window?: string;
  readonly algorithm?: string;
  readonly json?: true;
}

const DEFAULT_WINDOW = 60;
const LONGEST_WINDOW = 31_536_000;

/** `headgate suggest`: the smallest limits that deny at most a share of the keys of logs. */
export async function suggestFromLogs(paths: readonly string[], options: SuggestCommandOptions): Promise<ExitCode> {
  const denyAtMost = shareOf(options.denyAtMost);
  const open = await openLogs(paths, options);
  const requests = new SpooledRequests();
  let rule: RuleInput;
  try {
    rule = await ruleOf(options, open.dimension);
    // A log does not tell the tier of a user.
    const find = await ruleLookup([{ ...rule, tier: null, mode: "enforce", enforce_share: null }], open.dimension);
    await readLogs(open, ({ time, key, path, method, cost }) => {
      if (find(path, method, key).enforced.length > 0) requests.add(time, key, cost);
    });
  } finally {
    await open.close();
  }
  const { window_seconds } = rule;
  if (window_seconds === null) {
    throw new InvalidInput("--rule: has a calendar; suggestions need a rule with window_seconds");
  }
  const found = suggestLimits(requests, { denyAtMost, windowMs: 1000 * window_seconds });
  if (found.limits.length === 0) throw new InvalidInput("LOG: has no request that the rule applies to");
  const suggested = await Promise.all(
    found.limits.map(async (each) => ({ ...each, rule: await withLimit(rule, each) })),
  );
  const notes = notesOn(open);
  if (options.json) {
    const limits = suggested.map(({ rule, deniedKeys }) => ({ denied_keys: deniedKeys, rule }));
    const { keys, requests: counted, mayDeny } = found;
    const { read, bad } = countLines(open);
    const content = { lines: read, bad_lines: bad, requests: counted, keys, may_deny: mayDeny, suggestions: limits };
    process.stdout.write(`${JSON.stringify(content)}\n`);
    return exitCodes.done;
  }
  const printed = suggested.find(({ limit }) => limit.algorithm === rule.algorithm) ?? suggested[0];
  const lines = [
    ...notes,
    `${countText(found.requests)} requests of ${countText(found.keys)} keys; at most ${countText(found.mayDeny)} keys ` +
      `(${shareText(found.mayDeny, found.keys)}) may be denied`,
    ...(found.mayDeny === 0 && denyAtMost > 0
      ? [`There are too few keys to deny ${options.denyAtMost} of them: the limits admit everything in the log.`]
      : []),
    "",
    ...tableOf(suggested),
    "",
    (await rulesText([printed.rule])).trimEnd(),
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
  return exitCodes.done;
}

/** The rule of the file, or a new one for all paths, with the stated window and algorithm. */
async function ruleOf(options: SuggestCommandOptions, dimension: Dimension): Promise<RuleInput> {
  const { rule: id, rules: file, window, algorithm } = options;
  if (id === undefined) throw new InvalidInput("--rule: is required, as in --rule api");
  if (algorithm !== undefined && !isRateAlgorithm(algorithm)) {
    throw new InvalidInput(`--algorithm: must be the name of an algorithm, got ${JSON.stringify(algorithm)}`);
  }
  const changes = {
    ...(window !== undefined && {
      window_seconds: Math.max(1, Math.round(numberIn("--window", window, LONGEST_WINDOW))),
    }),
    ...(algorithm !== undefined && { algorithm }),
  };
  if (file === undefined) {
    const everything = { rule_id: id, name: id, dimension, endpoint_pattern: "/**" };
    return ruleFrom({ ...everything, limit: 1, window_seconds: DEFAULT_WINDOW, ...changes });
  }
  const { name, rules } = await readRules(file);
  const known = rules.find(({ rule_id }) => rule_id === id);
  if (known === undefined) throw new InvalidInput(`--rule: there is no rule ${id} in ${name}`);
  if (known.dimension !== dimension) {
    throw new InvalidInput(
      `--rule: ${id} has the dimension ${known.dimension}, but the requests have ${dimension}: name the field with --key ${known.dimension}=…`,
    );
  }
  if (!isRateAlgorithm(known.algorithm)) {
    throw new InvalidInput(`--rule: ${id} limits concurrent tasks, and logs do not show how long requests took`);
  }
  return { ...known, ...changes };
}

/** The rule with a suggested limit. What only another algorithm has is left out. */
function withLimit(rule: RuleInput, { limit: suggested }: SuggestedLimit): Promise<RuleInput> {
  const { rule_id, name, dimension, endpoint_pattern, methods, tier, mode, on_error, consistency } = rule;
  const { algorithm, limit, burst } = suggested;
  const { leasable, burst: hasBurst } = algorithms[algorithm].traits;
  return ruleFrom({
    ...{ rule_id, name, dimension, endpoint_pattern, methods, tier, mode, on_error },
    consistency: consistency === "leased" && !leasable ? "strict" : consistency,
    limit,
    window_seconds: rule.window_seconds,
    algorithm,
    burst: hasBurst && burst !== limit ? burst : null,
  });
}

async function ruleFrom(fields: Readonly<Record<string, unknown>>): Promise<RuleInput> {
  try {
    const [rule] = await rulesOfService([fields]);
    return rule;
  } catch (error) {
    throw new InvalidInput(`--rule: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

function isRateAlgorithm(name: string): name is AlgorithmName {
  return Object.values(algorithms).some((definition): boolean => "evaluate" in definition && definition.name === name);
}

function shareOf(text: string | undefined): number {
  if (text === undefined) throw new InvalidInput("--deny-at-most: is required, as in --deny-at-most 0.1%");
  const [, number, percent] = /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(text.trim()) ?? [];
  const share = Number(number) / (percent === "%" ? 100 : 1);
  if (share >= 0 && share < 1) return share;
  throw new InvalidInput(`--deny-at-most: must be a share below 1, such as 0.1% or 0.001, got ${JSON.stringify(text)}`);
}

function tableOf(suggested: readonly SuggestedLimit[]): string[] {
  const rows = [
    ["algorithm", "limit", "burst", "denied keys"],
    ...suggested.map(({ limit: { algorithm, limit, burst }, deniedKeys }) => [
      algorithm,
      countText(limit),
      algorithms[algorithm].traits.burst ? countText(burst) : "",
      countText(deniedKeys),
    ]),
  ];
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join("  ")}`.trimEnd(),
  );
}
