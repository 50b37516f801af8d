import { UNITS } from "../../transports/envoy/descriptor.ts";
import { type DescriptorInput, ENVOY_YAML, envoyFile } from "../../transports/envoy/envoy-config-schema.ts";
import { RulesFileError } from "../rules-file-error.ts";
import { YamlFile } from "../yaml-file.ts";
import { dimensionFor, patternFor } from "./identity-names.ts";
import { FIXED_WINDOW, type ImportedRules } from "./imported-rules.ts";

const PATH_KEY = /(^|[-_:])path$/i;
const METHOD_KEY = /(^|[-_:])method$/i;

interface Level {
  readonly key: string;
  readonly value: string;
  /** Whether all values of a wildcard share a counter. */
  readonly isShared: boolean;
}

/** Converts a configuration file of envoyproxy/ratelimit. */
export function importEnvoy(text: string, name: string, into: ImportedRules): void {
  const yaml = new YamlFile(text, name, ENVOY_YAML);
  const { data, error } = envoyFile.safeParse(yaml.value);
  if (error !== undefined) throw new RulesFileError(name, yaml.problemsOf(error.issues));
  const visit = (inputs: readonly DescriptorInput[], levels: readonly Level[], place: readonly PropertyKey[]): void => {
    for (const [i, input] of inputs.entries()) {
      const at = [...place, i];
      const all = [...levels, { key: input.key, value: input.value, isShared: input.share_threshold }];
      const { line } = yaml.problemAt([...at, "key"], "");
      convert(input, data.domain, all, line, into);
      visit(input.descriptors, all, [...at, "descriptors"]);
    }
  };
  visit(data.descriptors, [], ["descriptors"]);
}

function convert(
  input: DescriptorInput,
  domain: string,
  levels: readonly Level[],
  line: number,
  into: ImportedRules,
): void {
  const { rate_limit: limit } = input;
  if (limit === undefined || limit === null) return;
  const path = `${domain}.${levels.map(({ key, value }) => (value === "" ? key : `${key}_${value}`)).join(".")}`;
  const identities = levels.filter(({ key, value }) => value === "" && dimensionFor(key) !== undefined);
  const paths = levels.filter(({ key, value }) => PATH_KEY.test(key) && value.startsWith("/"));
  const methods = levels.filter(({ key, value }) => METHOD_KEY.test(key) && value !== "");
  const others = levels.filter((level) => ![...identities, ...paths, ...methods].includes(level));
  if (limit.unlimited || limit.requests_per_unit === 0) {
    into.note(line, `${path} is ${limit.unlimited ? "unlimited" : "a limit of 0"}, which no rule can be`);
    return;
  }
  if (others.length > 0) {
    const names = others.map(({ key, value }) => (value === "" ? key : `${key}=${value}`)).join(", ");
    into.note(
      line,
      `${path} has no equivalent: a rule has a path, methods, and a user, address or API key, but no ${names}`,
    );
    return;
  }
  if (identities.length !== 1) {
    const what = identities.length === 0 ? "counts all clients together" : "counts by several identities at once";
    into.note(line, `${path} has no equivalent: it ${what}, and a rule counts by one of user, address and API key`);
    return;
  }
  const inner = paths.find(({ value }) => /\*./.test(value));
  if (inner !== undefined) {
    into.note(line, `${path} has no equivalent: patterns have no wildcard such as that of ${inner.value}`);
    return;
  }
  const open = paths.find(({ value }) => /[^/]\*$/.test(value));
  if (open !== undefined) {
    into.note(line, `${path}: the rule does not match paths that go on without a slash, as ${open.value} does`);
  }
  if (paths.some(({ value, isShared }) => value.includes("*") && !isShared)) {
    into.note(line, `${path}: each path has a counter of its own; the rule counts all that match together`);
  }
  if (limit.replaces.length > 0) into.note(line, `${path}: replaces is not carried over; the rules apply together`);
  if (input.quota_mode) into.note(line, `${path}: quota_mode is not carried over`);
  if (limit.algorithm === undefined && limit.charge !== "if_it_fits") {
    into.note(line, `${path}: rules do not count denied requests, as charge: always does`);
  }
  into.add(line, {
    rule_id: limit.name ?? path,
    name: limit.name ?? path,
    dimension: dimensionFor(identities[0].key),
    endpoint_pattern: paths.length === 0 ? "/**" : patternFor(paths[0].value),
    ...(methods.length > 0 && { methods: methods.map(({ value }) => value) }),
    limit: limit.requests_per_unit,
    window_seconds: limit.window_seconds ?? (limit.unit === undefined ? 1 : UNITS[limit.unit].seconds),
    algorithm: limit.algorithm ?? FIXED_WINDOW,
    ...(limit.burst !== undefined && { burst: limit.burst }),
    mode: input.shadow_mode ? "shadow" : "enforce",
    on_error: limit.on_error,
    consistency: limit.consistency,
  });
}
