import { z } from "zod";

export const pageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  cursor: z.string().min(1).max(1_024).optional().describe("The value of next on the previous page"),
});

/** For lists that nearly always fit on one page. */
export const longPageQuery = pageQuery.extend({ limit: pageQuery.shape.limit.unwrap().default(1_000) });

/** Of a page in a response. */
export const next = z.string().optional().describe("The cursor of the next page; absent on the last page");
