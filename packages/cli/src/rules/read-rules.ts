import { checkRules, type RuleInput } from "headgate-server";
import { InvalidInput, reported } from "../failure.ts";
import { openSource } from "../input/source.ts";

export interface ReadRules {
  readonly name: string;
  readonly rules: readonly RuleInput[];
  readonly warnings: readonly { readonly message: string }[];
}

/** Prints one line per problem; the last one is the error that is thrown. */
export async function readRules(file: string | undefined): Promise<ReadRules> {
  const { name, text } = await readText(file, "headgate rules validate rules.yaml");
  const checked = await checkRules(text);
  if (checked.problems === undefined) return { name, ...checked };
  const errors = checked.problems.map(({ line, column, field, problem }) => {
    return new InvalidInput(`${name}:${line}:${column}: ${field === "" ? "" : `${field}: `}${problem}`);
  });
  for (const error of errors.slice(0, -1)) process.stderr.write(reported(error).line);
  throw errors.at(-1);
}

/** The text of a file or of standard input. `example` is shown if no file is given. */
export async function readText(file: string | undefined, example: string): Promise<{ name: string; text: string }> {
  if (file === undefined) throw new InvalidInput(`file: is required, as in ${example}`);
  const source = await openSource(file, "file");
  const pieces: Buffer[] = [];
  for await (const piece of source.read()) pieces.push(piece);
  await source.close();
  return { name: source.name, text: Buffer.concat(pieces).toString("utf8") };
}
