import { z } from "zod";
import { RulesFileError } from "../rules-file-error.ts";
import { YamlFile } from "../yaml-file.ts";
import { dimensionFor, patternFor } from "./identity-names.ts";
import { FIXED_WINDOW, type ImportedRules } from "./imported-rules.ts";

const limitadorFile = z.array(
  z.looseObject({
    namespace: z.string({ error: "must be a text" }),
    max_value: z.int({ error: "must be a whole number" }).min(0),
    seconds: z.int({ error: "must be a whole number" }).min(1),
    name: z.string().nullish(),
    conditions: z.array(z.string()).nullish(),
    variables: z.array(z.string()).nullish(),
  }),
  { error: "must be a list of limits, each with namespace, max_value and seconds" },
);

/** `req.method == 'GET'`, with any prefix and either quotes. */
const EQUALS = /^([\w.\-[\]'"]+?)\s*(==|=~)\s*["'](.*)["']$/;

/** Converts a limits file of Limitador. */
export function importLimitador(text: string, name: string, into: ImportedRules): void {
  const yaml = new YamlFile(text, name);
  const { data, error } = limitadorFile.safeParse(yaml.value);
  if (error !== undefined) throw new RulesFileError(name, yaml.problemsOf(error.issues));
  for (const [i, limit] of data.entries()) {
    const { line } = yaml.problemAt([i], "");
    const title = limit.name ?? `${limit.namespace} ${limit.max_value} per ${limit.seconds} s`;
    const { variables, conditions } = limit;
    const [variable, ...others] = variables ?? [];
    const dimension = variable === undefined ? undefined : dimensionFor(lastPart(variable));
    const where = (conditions ?? []).map((condition) => ({ condition, parts: EQUALS.exec(condition.trim()) }));
    const paths = where.filter(
      ({ parts }) => parts !== null && lastPart(parts[1]).endsWith("path") && parts[2] === "==",
    );
    const methods = where.filter(({ parts }) => parts !== null && lastPart(parts[1]).endsWith("method"));
    const rest = where.filter((each) => !paths.includes(each) && !methods.includes(each));
    if (limit.max_value === 0) into.note(line, `${title} is a limit of 0, which no rule can be`);
    else if (dimension === undefined || others.length > 0) {
      const what =
        variables === undefined || variables === null || variables.length === 0
          ? "all clients together"
          : variables.join(", ");
      into.note(
        line,
        `${title} has no equivalent: it counts ${what}, and a rule counts by one of user, address and API key`,
      );
    } else if (rest.length > 0 || paths.length > 1) {
      into.note(line, `${title} has no equivalent: a rule has no condition such as ${(rest[0] ?? paths[1]).condition}`);
    } else {
      into.add(line, {
        name: title,
        dimension,
        endpoint_pattern: patternFor(paths[0]?.parts?.[3] ?? "/**"),
        ...(methods.length > 0 && { methods: methods.map(({ parts }) => parts?.[3] ?? "") }),
        limit: limit.max_value,
        window_seconds: limit.seconds,
        algorithm: FIXED_WINDOW,
      });
    }
  }
}

/** `descriptors[0]['req.path']` and `req.path` are both `path`. */
function lastPart(name: string): string {
  return (
    name
      .replaceAll(/[\]'"]/g, "")
      .split(/[.[]/)
      .at(-1) ?? name
  );
}
