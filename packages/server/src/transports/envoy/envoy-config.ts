import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { HeadgateError } from "headgate";
import { type FileProblem, RulesFileError } from "../../rules/rules-file-error.ts";
import { YamlFile } from "../../rules/yaml-file.ts";
import type { Log } from "../../runtime/log.ts";
import { DescriptorNode } from "./descriptor-tree.ts";
import { type DescriptorInput, ENVOY_YAML, envoyFile, WITHOUT_EFFECT } from "./envoy-config-schema.ts";
import { configuredLimit } from "./envoy-limit.ts";

/** The descriptors of each domain. */
export type Domains = ReadonlyMap<string, DescriptorNode>;

export interface EnvoyFile {
  readonly name: string;
  readonly text: string;
}

export interface ReadDomains {
  readonly domains: Domains;
  /** Fields that have no effect, with their place, and files that are not read. */
  readonly warnings: readonly string[];
}

/** Reads configuration files of envoyproxy/ratelimit. Throws a RulesFileError that names file, line and column. */
export function readDomains(files: readonly EnvoyFile[]): ReadDomains {
  const domains = new Map<string, DescriptorNode>();
  const origins = new Map<string, string>();
  const warnings: string[] = [];
  for (const { name, text } of files) {
    const yaml = new YamlFile(text, name, ENVOY_YAML);
    const { data, error } = envoyFile.safeParse(yaml.value);
    if (error !== undefined) throw new RulesFileError(name, yaml.problemsOf(error.issues));
    const { domain, descriptors } = data;
    const origin = origins.get(domain);
    if (origin !== undefined) {
      const problem = `${domain} is the domain of ${origin}, too: a domain has one file`;
      throw new RulesFileError(name, [yaml.problemAt(["domain"], problem)]);
    }
    const reading = new FileReading(yaml);
    const root = new DescriptorNode();
    reading.add(root, descriptors, domain, ["descriptors"]);
    if (reading.problems.length > 0) throw new RulesFileError(name, reading.problems);
    warnings.push(...reading.warnings.map(({ line, field, problem }) => `${name}:${line}: ${field} ${problem}`));
    domains.set(domain, root);
    origins.set(domain, name);
  }
  return { domains, warnings };
}

/** Collects what a file says. */
class FileReading {
  readonly problems: FileProblem[] = [];
  readonly warnings: FileProblem[] = [];
  private readonly yaml: YamlFile;

  constructor(yaml: YamlFile) {
    this.yaml = yaml;
  }

  add(parent: DescriptorNode, inputs: readonly DescriptorInput[], path: string, place: readonly PropertyKey[]): void {
    for (const [i, input] of inputs.entries()) {
      const { key, value } = input;
      const at = [...place, i];
      const name = `${path}.${value === "" ? key : `${key}_${value}`}`;
      const node = this.nodeOf(input, name, at);
      if (!parent.add(key, value, node)) {
        this.problems.push(this.yaml.problemAt([...at, "key"], `${name} is defined twice: remove one of them`));
      }
      this.warn(input, at);
      this.add(node, input.descriptors, name, [...at, "descriptors"]);
    }
  }

  private nodeOf(input: DescriptorInput, path: string, at: readonly PropertyKey[]): DescriptorNode {
    const { rate_limit: limit, shadow_mode: isShadow, quota_mode: isQuota } = input;
    const shared = input.share_threshold ? input.value : undefined;
    if (limit === undefined || limit === null) return new DescriptorNode(undefined, shared);
    try {
      return new DescriptorNode(configuredLimit(path, limit, { isShadow, isQuota }), shared);
    } catch (error) {
      if (!(error instanceof HeadgateError)) throw error;
      const problem = error.problem.replace(
        /^is not a field of (\w+) .*$/,
        "does not apply to $1: remove it, or set algorithm",
      );
      this.problems.push(this.yaml.problemAt([...at, "rate_limit", error.field], problem));
      return new DescriptorNode();
    }
  }

  private warn(input: DescriptorInput, at: readonly PropertyKey[]): void {
    for (const field of ["detailed_metric", "value_to_metric", "metadata"] as const) {
      if (!input[field]) continue;
      this.warnings.push(this.yaml.problemAt([...at, field], `has no effect: ${WITHOUT_EFFECT[field]}`));
    }
  }
}

/** How often to look at the folder. It is read after two looks find it unchanged. */
const LOOK_MS = 200;

/** The domains in a folder of configuration files, which is watched. */
export class EnvoyConfig {
  domains: Domains;
  private readonly folder: string;
  private readonly log: Log;
  private seen = "";
  private lastRead: string;
  private complaint = "";
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  private constructor(folder: string, log: Log, state: string, domains: Domains) {
    this.folder = folder;
    this.log = log;
    this.lastRead = state;
    this.domains = domains;
    this.timer = setTimeout(this.look, LOOK_MS).unref();
  }

  /** Throws if the folder cannot be read or a file is invalid. */
  static async open(folder: string, log: Log): Promise<EnvoyConfig> {
    const state = await stateOf(folder);
    const { domains, warnings } = await readFolder(folder);
    for (const warning of warnings) log.warn(warning);
    return new EnvoyConfig(folder, log, state, domains);
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private readonly look = async (): Promise<void> => {
    const state = await stateOf(this.folder);
    if (state === this.seen && state !== this.lastRead) {
      this.lastRead = state;
      await this.read();
    }
    this.seen = state;
    if (!this.isClosed) this.timer = setTimeout(this.look, LOOK_MS).unref();
  };

  private async read(): Promise<void> {
    const { folder, log } = this;
    try {
      const { domains, warnings } = await readFolder(folder);
      for (const warning of warnings) log.warn(warning);
      this.domains = domains;
      this.complaint = "";
      log.info({ folder, domains: domains.size }, "loaded the Envoy configuration");
    } catch (error) {
      if (String(error) === this.complaint) return;
      this.complaint = String(error);
      log.error({ folder, err: error }, "cannot use the Envoy configuration: the previous one stays in force");
    }
  }
}

/** Reads all configuration files of a folder. */
export async function readFolder(folder: string): Promise<ReadDomains & { readonly limits: number }> {
  const { files, others } = await filesIn(folder);
  const { domains, warnings } = readDomains(files);
  // envoyproxy/ratelimit reads files with any name, and those of folders in the folder.
  const ignored = others.map((name) => `${join(folder, name)} is ignored: it is not a .yaml or .yml file`);
  const limits = [...domains.values()].reduce((count, root) => count + [...root.limits()].length, 0);
  const none = limits === 0 ? [`${folder} has no limits, so requests pass unless they bring their own`] : [];
  return { domains, limits, warnings: [...none, ...ignored, ...warnings] };
}

/** The names in a folder, sorted. Those with a leading dot belong to editors and to Kubernetes. */
async function namesIn(folder: string): Promise<{ readonly yaml: string[]; readonly others: string[] }> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith(".")).sort();
  const isYaml = (name: string): boolean => /\.ya?ml$/i.test(name);
  return { yaml: names.filter(isYaml), others: names.filter((name) => !isYaml(name)) };
}

async function filesIn(folder: string): Promise<{ readonly files: EnvoyFile[]; readonly others: string[] }> {
  try {
    const { yaml, others } = await namesIn(folder);
    const files = yaml.map(async (name) => ({
      name: join(folder, name),
      text: await readFile(join(folder, name), "utf8"),
    }));
    return { files: await Promise.all(files), others };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    const problem = code === "ENOENT" ? "no such folder" : `cannot be read (${code})`;
    throw new HeadgateError("HG_BAD_OPTION", "--envoy-config", `${folder}: ${problem}`, { cause: error });
  }
}

/** Changes whenever one of the files does, as far as the system reports. */
async function stateOf(folder: string): Promise<string> {
  try {
    const { yaml } = await namesIn(folder);
    const states = yaml.map(async (name) => {
      const { ino, size, mtimeNs, ctimeNs } = await stat(join(folder, name), { bigint: true });
      return [name, ino, size, mtimeNs, ctimeNs].join(" ");
    });
    return (await Promise.all(states)).join("\n");
  } catch (error) {
    return String(error);
  }
}
