import { z } from "zod";
import { Catalogue } from "../../../rules/catalogue.ts";
import { inTurns } from "../../../rules/cooperative-work.ts";
import type { Warning } from "../../../rules/overlaps.ts";
import { ruleInput } from "../../../rules/rule-input.ts";
import type { App } from "../app.ts";
import type { RestParts } from "../rest-dependencies.ts";
import { problems } from "../schemas/problem-schemas.ts";
import { rule } from "../schemas/rule-schemas.ts";

/** The most warnings that a response lists. */
const MOST_LISTED = 1_000;

const warning = z.object({
  rule_ids: z.array(z.string()).describe("The rule that the warning is about, then the one that it conflicts with"),
  message: z.string(),
});

const warnings = z
  .object({
    warnings: z.array(warning).max(MOST_LISTED),
    more: z.number().optional().describe("Number of further warnings"),
  })
  .describe("Rules that overlap");

const draftAnswer = z
  .object({
    rule: z.object(rule.shape).omit({ created_at: true, updated_at: true, version: true }).describe("With defaults"),
    warnings: z.array(warning).describe("How it would overlap with the rules in force"),
  })
  .describe("The rule is valid");

/** Validation of rules that are being edited, and warnings about those in force. */
export function draftRoutes(app: App, { catalogue, now = Date.now }: RestParts): void {
  app.post(
    "/rule-drafts",
    {
      schema: {
        tags: ["rules"],
        summary: "Validate a rule without storing it",
        body: ruleInput,
        response: { 200: draftAnswer, ...problems("malformed_json", "body_too_large", "unsupported_media_type") },
      },
    },
    async ({ body: draft }) => {
      const at = new Date(now()).toISOString();
      const others = catalogue().byId.filter(({ rule_id }) => rule_id !== draft.rule_id);
      const changed = await Catalogue.make([...others, { ...draft, created_at: at, updated_at: at, version: 0 }]);
      const found = await inTurns(changed.findWarnings());
      const own = found.filter(({ rule_ids }) => rule_ids.includes(draft.rule_id));
      return { rule: draft, warnings: own.slice(0, MOST_LISTED).map(stated) };
    },
  );

  app.get(
    "/rule-warnings",
    {
      schema: {
        tags: ["rules"],
        summary: "List rules that overlap, as headgate doctor does",
        response: { 200: warnings, ...problems() },
      },
    },
    async () => {
      const found = await inTurns(catalogue().findWarnings());
      const more = found.length - MOST_LISTED;
      return { warnings: found.slice(0, MOST_LISTED).map(stated), ...(more > 0 && { more }) };
    },
  );
}

function stated({ rule_ids, message }: Warning): z.output<typeof warning> {
  return { rule_ids: [...rule_ids], message };
}
