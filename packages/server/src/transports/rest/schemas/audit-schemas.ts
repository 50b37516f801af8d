import { z } from "zod";
import { count, id, time } from "./common-fields.ts";
import { next, pageQuery } from "./page-schemas.ts";

export const auditQuery = pageQuery.extend({
  user: id.optional().describe("Entries about this user; short for subject=user:<id>"),
  subject: z
    .string()
    .min(1)
    .max(1_100)
    .optional()
    .describe(
      "Entries about this subject: rule:<id>, user:<id>, ip:<address>, apikey:<id>, key:<id> or reservation:<id>",
    ),
  action: z.string().min(1).max(64).optional(),
  from: time.optional(),
  to: time.optional(),
});

export const auditPage = z
  .object({
    entries: z.array(
      z.object({
        seq: z.number(),
        at: z.string(),
        actor_id: z.string(),
        actor_name: z.string(),
        action: z.string(),
        subject: z.string(),
        before: z.unknown(),
        after: z.unknown(),
        previous_hash: z.string(),
        hash: z.string(),
        unreadable: z
          .string()
          .optional()
          .describe("Why the stored entry cannot be parsed; the field it names has the stored text"),
      }),
    ),
    next,
  })
  .describe("A page of the audit log");

const link = z.object({ seq: count, hash: z.string() });

export const verification = z
  .object({
    intact: z.boolean(),
    entries: count.describe("Number of unmodified entries"),
    begins_after: link.describe("The last entry that was purged; seq 0 if none was"),
    head: link.describe("The last entry. Keep it elsewhere to detect later whether the log was rewritten"),
    broken: z
      .array(z.looseObject({ seq: count }))
      .optional()
      .describe("Where the chain is broken"),
    unlisted: count.optional().describe("Number of further breaks"),
  })
  .describe("Whether the audit log is intact");
