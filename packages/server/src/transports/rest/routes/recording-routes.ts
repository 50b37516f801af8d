import { z } from "zod";
import { keyOf } from "../../../checks/check-request.ts";
import type { RecordedRequest } from "../../../recorder/recorded-requests.ts";
import type { App } from "../app.ts";
import { Problem } from "../problem.ts";
import type { RestParts } from "../rest-dependencies.ts";
import { identifier } from "../schemas/check-schemas.ts";
import { problems } from "../schemas/problem-schemas.ts";
import { ruleParams } from "../schemas/rule-schemas.ts";

const query = z.strictObject({
  identifier: identifier.optional().describe("Only requests of this user, IP address or API key"),
  limit: z.coerce.number().int().min(1).max(5_000).default(1_000),
  cursor: z.string().min(1).max(8_192).optional().describe("The value of next on the previous page"),
});

const request = z.object({
  time_ms: z.number().describe("By the store's clock, in milliseconds since 1970, with a fraction"),
  key: z.string().describe("The identifier that made the request, hashed with record_secret"),
  action: z.enum(["take", "penalize", "refund", "reset"]).describe("take: a request; the others correct the usage"),
  cost: z.number(),
  allowed: z.boolean().describe("What was decided then"),
  remaining: z
    .number()
    .optional()
    .describe("What the store said was left, with a fraction; absent for rules that are cached, leased or split"),
  idempotency_key: z
    .string()
    .optional()
    .describe("Hashed. A request of the same key with the same value and time is a retry, which was not counted"),
});

const recording = z
  .object({
    recording: z.boolean().describe("Whether this node records decisions"),
    scope: z
      .literal("node")
      .describe(
        "Whose recordings are read: only those of this node. They do not have checks that other nodes answered",
      ),
    recorded: z
      .boolean()
      .optional()
      .describe("With identifier: whether this identity is among those that are recorded; if not, none are listed"),
    now_ms: z.number().describe("This node's time when it answered, in milliseconds since 1970"),
    one_in: z.int().optional().describe("One in this many identities is recorded"),
    processes: z.int().describe("Number of processes of this node whose recordings are read"),
    requests: z.array(request).describe("Roughly latest first. A page can be empty even if there is a next one"),
    complete_from_ms: z
      .number()
      .optional()
      .describe(
        "Time from which the pages so far are complete; absent if it is not known yet, and on the last page unless earlier segments were deleted",
      ),
    next: z.string().optional().describe("The cursor of the next page; absent on the last one"),
  })
  .meta({ id: "RuleRecording" });

/** What was recorded of single rules. */
export function recordingRoutes(app: App, { catalogue, recording: recorded, now = Date.now }: RestParts): void {
  app.get(
    "/rules/:rule_id/recording",
    {
      schema: {
        tags: ["rules"],
        summary: "List the recorded requests of a rule, latest first",
        params: ruleParams,
        querystring: query,
        response: { 200: recording, ...problems("rule_not_found") },
      },
    },
    async ({ params, query }) => {
      const rule = catalogue().ruleOf(params.rule_id);
      if (rule === undefined) throw new Problem("rule_not_found");
      const { identifier, limit, cursor } = query;
      const { dimension } = rule;
      const none = { scope: "node" as const, processes: 0, requests: [] };
      const named = identifier === undefined ? undefined : keyOf({ identifier, dimension });
      if (recorded === undefined) return { recording: false, now_ms: now(), ...none };
      const common = { ...none, recording: true, one_in: recorded.oneIn };
      const key = named === undefined ? undefined : recorded.nameOf(named);
      if (named !== undefined && key === undefined) return { ...common, now_ms: now(), recorded: false };
      const { processes, requests, completeFrom, next } = await recorded.requests.page(rule, { limit, cursor, key });
      return {
        ...common,
        // After the recordings have been read, which can take a while.
        now_ms: now(),
        ...(key !== undefined && { recorded: true }),
        processes,
        requests: requests.map(shown),
        ...(completeFrom !== undefined && Number.isFinite(completeFrom) && { complete_from_ms: completeFrom / 1000 }),
        ...(next !== undefined && { next }),
      };
    },
  );
}

function shown({
  time,
  key,
  action,
  cost,
  allowed,
  remaining,
  idempotencyKey,
}: RecordedRequest): z.output<typeof request> {
  return {
    time_ms: time / 1000,
    key,
    action,
    cost,
    allowed,
    ...(remaining !== undefined && { remaining }),
    ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
  };
}
