import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { StoreState } from "../checks/counter-stores.ts";
import type { NodeReportTable } from "../database/database.ts";
import { SOURCES } from "./decision-counts.ts";
import type { NodeTelemetry } from "./node-telemetry.ts";

/** A node that has written nothing for this long is not counted. */
const GONE_MS = 10_000;

const rate = z.number().min(0);

const rates = z.object({
  allowed: rate.describe("Checks per second that were allowed"),
  denied: rate.describe("Checks per second that were denied"),
  shadow_denied: rate.describe("Decisions per second that a rule in shadow mode would have denied"),
  candidate_denied: rate
    // A node of an earlier version does not write it.
    .default(0)
    .describe("Requests per second that the candidates of rules would have denied"),
  unmatched: rate.describe("Checks per second that no rule matched"),
  sources: z
    .object({ store: rate, lease: rate, cache: rate, fallback: rate })
    .describe("Decisions per second by what decided"),
});

const nodeReport = rates.extend({
  node_id: z.string(),
  name: z.string().describe("Host and process of the node, or of a worker of it"),
  version: z.string(),
  started_at: z.string(),
  at: z.string().describe("When the node wrote these figures"),
  store: z
    .enum(["memory", "reachable", "partial", "unreachable"])
    .describe("State of the store that counts, as this node sees it"),
});

/** The latest figures of one node, or of one worker. */
type NodeReport = z.output<typeof nodeReport>;

const livePicture = rates.extend({
  at: z.string(),
  nodes: z.array(nodeReport),
  complete: z.boolean().describe("Whether the figures of all nodes could be read"),
});

/** What all nodes do at present. */
export type LivePicture = z.output<typeof livePicture>;

export interface ReportingNode {
  readonly name: string;
  readonly version: string;
  /** Undefined if counters are kept in memory. */
  readonly store: () => StoreState | undefined;
}

type Totals = Omit<z.output<typeof rates>, "sources"> & { readonly sources: readonly number[] };

/**
 * Shows what all nodes and workers do at present. Each writes its rates to the database every few seconds, and any of
 * them adds up what is there, so that all give the same picture.
 */
export class NodeReports {
  readonly #telemetry: Pick<NodeTelemetry, "checks" | "tally">;
  readonly #table: NodeReportTable;
  readonly #node: ReportingNode;
  readonly #nodeId: string;
  readonly #startedAt: string;
  #before: { readonly at: number; readonly totals: Totals };

  constructor(
    telemetry: Pick<NodeTelemetry, "checks" | "tally">,
    table: NodeReportTable,
    node: ReportingNode,
    now: number,
    nodeId: string = randomUUID(),
  ) {
    this.#telemetry = telemetry;
    this.#table = table;
    this.#node = node;
    this.#nodeId = nodeId;
    this.#startedAt = new Date(now).toISOString();
    this.#before = { at: now, totals: this.#totals() };
  }

  /** Writes the rates since the last call. */
  async write(now: number): Promise<void> {
    const report = this.#report(now);
    await this.#table.put(this.#nodeId, now, JSON.stringify(report));
  }

  /** What the nodes wrote last. Without the database, the picture is empty and says that it is not complete. */
  async picture(now: number): Promise<LivePicture> {
    const nodes: NodeReport[] = [];
    let complete = true;
    try {
      for (const text of await this.#table.since(now - GONE_MS)) {
        const read = nodeReport.safeParse(JSON.parse(text));
        if (read.success) nodes.push(read.data);
        else complete = false;
      }
    } catch {
      complete = false;
    }
    return { at: new Date(now).toISOString(), ...sumOf(nodes), nodes, complete };
  }

  /** Removes the report of this node, which stops. */
  async leave(): Promise<void> {
    await this.#table.remove(this.#nodeId);
  }

  #report(now: number): NodeReport {
    const { at, totals: before } = this.#before;
    const totals = this.#totals();
    const seconds = Math.max(0.001, (now - at) / 1000);
    this.#before = { at: now, totals };
    const per = (count: number, earlier: number): number => Math.round(((count - earlier) / seconds) * 100) / 100;
    const [store, lease, cache, fallback] = totals.sources.map((count, i) => per(count, before.sources[i]));
    return {
      node_id: this.#nodeId,
      name: this.#node.name,
      version: this.#node.version,
      started_at: this.#startedAt,
      at: new Date(now).toISOString(),
      store: this.#node.store() ?? "memory",
      allowed: per(totals.allowed, before.allowed),
      denied: per(totals.denied, before.denied),
      shadow_denied: per(totals.shadow_denied, before.shadow_denied),
      candidate_denied: per(totals.candidate_denied, before.candidate_denied),
      unmatched: per(totals.unmatched, before.unmatched),
      sources: { store, lease, cache, fallback },
    };
  }

  #totals(): Totals {
    const { checks, tally } = this.#telemetry;
    const sources = SOURCES.map(() => 0);
    let [shadowDenied, candidateDenied] = [0, 0];
    for (const rule of tally.rules.values()) {
      shadowDenied += rule.shadowDenied;
      candidateDenied += rule.candidateDenied;
      for (let i = 0; i < sources.length; i += 1) sources[i] += rule.allowed[i] + rule.denied[i];
    }
    const { allowed, denied, unmatched } = checks;
    return { allowed, denied, unmatched, shadow_denied: shadowDenied, candidate_denied: candidateDenied, sources };
  }
}

function sumOf(nodes: readonly NodeReport[]): z.output<typeof rates> {
  const sum = (rate: (node: NodeReport) => number): number =>
    Math.round(nodes.reduce((all, node) => all + rate(node), 0) * 100) / 100;
  return {
    allowed: sum(({ allowed }) => allowed),
    denied: sum(({ denied }) => denied),
    shadow_denied: sum(({ shadow_denied }) => shadow_denied),
    candidate_denied: sum(({ candidate_denied }) => candidate_denied),
    unmatched: sum(({ unmatched }) => unmatched),
    sources: {
      store: sum(({ sources }) => sources.store),
      lease: sum(({ sources }) => sources.lease),
      cache: sum(({ sources }) => sources.cache),
      fallback: sum(({ sources }) => sources.fallback),
    },
  };
}
