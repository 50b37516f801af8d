import { errorCodes } from "headgate";
import { documented } from "headgate-testkit/docs-pages";
import { describe, expect, it } from "vitest";
import { RETENTION_MS } from "../../src/database/retention.ts";

const DAY = 86_400_000;

describe("docs/service/storage.md", () => {
  const text = documented("service/storage.md");

  it("lists every code and no other, with the meaning that the code has", () => {
    const rows = [...text.matchAll(/^\| `(HG_\w+)` \| (.+?) \| (.+) \|$/gm)];
    expect(rows.map(([, code, meaning]) => [code, meaning])).toEqual(
      Object.entries(errorCodes).filter(([code]) => code.startsWith("HG_DATABASE_")),
    );
    for (const [, , , advice] of rows) expect(advice).toMatch(/\w.*\.$/);
  });

  it("says how long each is kept", () => {
    expect(text).toContain(`| audit log | ${RETENTION_MS.audit / DAY} days |`);
    expect(text).toContain(`| rollups of a minute | ${RETENTION_MS.minute_rollups / DAY} days |`);
    expect(text).toContain(`| rollups of a day | ${RETENTION_MS.day_rollups / DAY} days |`);
    expect(text).toContain(`| expired overrides | ${RETENTION_MS.overrides / DAY} days after they expire |`);
    expect(text).toContain(`| answers by idempotency key | ${RETENTION_MS.answered / 60_000} minutes |`);
    expect(text).toContain(`| ${RETENTION_MS.changes / DAY} day |`);
  });
});
