import { request } from "node:http";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as threads from "../../../src/rules/worker-call.ts";
import { eventually, ruleOf, type Service, startService } from "./service.ts";

vi.mock(import("../../../src/rules/worker-call.ts"), { spy: true });

let service: Service;
afterEach(async () => {
  vi.mocked(threads.askThread).mockReset();
  await service.stop();
});

/** One that is read by this thread, and one that is read by another. */
const SIZES = [2, 2_000];

function rules(count: number, last: object = {}): object[] {
  return Array.from({ length: count }, (_, i) =>
    Object.assign(ruleOf({ rule_id: `r${i}`, endpoint_pattern: `/r${i}` }), i === count - 1 && last),
  );
}

describe.each(SIZES)("a replacement by %d rules", (count) => {
  it("is made as a whole", async () => {
    service = await startService();
    const { status, body } = await service.ask("PUT", "/api/v1/rules", { body: { rules: rules(count) } });
    expect([status, body.created.length, body.removed]).toEqual([200, count, ["orders"]]);
    expect((await service.ask("GET", `/api/v1/rules/r${count - 1}`)).body).toMatchObject({ version: 1, limit: 3 });
  });

  it.each([
    ["a limit of zero", { limit: 0 }, "limit", "must be a whole number from 1 to 2^53 - 1"],
    ["a field that nobody knows", { color: "red" }, "color", "is not a known field"],
    ["a pattern of nothing", { endpoint_pattern: "" }, "endpoint_pattern", expect.stringContaining("slash")],
  ])("is refused with %s, and the field is named", async (_, last, field, problem) => {
    service = await startService();
    const { status, body } = await service.ask("PUT", "/api/v1/rules", { body: { rules: rules(count, last) } });
    expect([status, body.code]).toEqual([400, "validation_failed"]);
    expect(body.errors).toEqual([{ in: "body", field: `rules[${count - 1}].${field}`, problem }]);
    expect((await service.ask("GET", "/api/v1/rules/orders")).status).toBe(200);
  });

  it("is rejected if it is not a list, or longer than that", async () => {
    service = await startService();
    const more = await service.ask("PUT", "/api/v1/rules", { body: { rules: rules(count), color: "red" } });
    expect([more.status, more.body.errors]).toMatchObject([400, [{ field: "color", problem: "is not a known field" }]]);
    const none = await service.ask("PUT", "/api/v1/rules", { body: { rules: Object.assign({}, rules(count)) } });
    expect([none.status, none.body.errors]).toMatchObject([400, [{ in: "body", field: "rules" }]]);
  });
});

describe("a replacement with many mistakes", () => {
  it.each([
    ["in this thread", 20_000],
    ["in another", 40_000],
  ])("lists a hundred problems, and says how many rules it did not look at: %s", async (_, count) => {
    service = await startService();
    const body = `{"rules":[${Array(count).fill("{}").join(",")}]}`;
    const { status, body: problem, text } = await service.ask("PUT", "/api/v1/rules", { body });
    expect([status, problem.code, problem.errors.length]).toEqual([400, "validation_failed", 100]);
    expect(text.length).toBeLessThan(50_000);
    const looked = 1 + Number(problem.errors.at(-1).field.match(/\d+/)[0]);
    expect(problem.unchecked_rules).toBe(count - looked);
    expect(problem.detail).toContain(`${count - looked} rules after these were not validated`);
  });

  it("counts those that it does not list", async () => {
    service = await startService();
    const fields = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`unknown${i}`, 1]));
    const { body } = await service.ask("PUT", "/api/v1/rules", {
      body: { rules: [ruleOf(), { ...ruleOf(), ...fields }] },
    });
    expect([body.errors.length, body.more_errors, body.unchecked_rules]).toEqual([100, 50, undefined]);
    expect(body.detail).toContain("and 149 more");
    const other = await service.ask("POST", "/api/v1/check", { body: fields });
    expect([other.status, other.body.errors.length]).toEqual([400, 100]);
    expect(other.body.more_errors).toBeGreaterThanOrEqual(50);
  });
});

describe("threads that read replacements", () => {
  /** Replaces threads: they run until they are aborted, or asked to end. */
  function heldThreads() {
    const asked: { readonly signal: AbortSignal | undefined; end(): void }[] = [];
    vi.mocked(threads.askThread).mockImplementation(
      (_file, _question, options = {}) =>
        new Promise((resolve, reject) => {
          const { signal } = options;
          signal?.addEventListener("abort", () => reject(signal.reason));
          asked.push({ signal, end: () => resolve({ answer: "rules" as never, parts: [] }) });
        }),
    );
    return asked;
  }

  it("run one at a time", async () => {
    service = await startService();
    const asked = heldThreads();
    const body = { rules: rules(2_000) };
    const answers = Promise.all([1, 2, 3].map(() => service.ask("PUT", "/api/v1/rules", { body })));
    for (const count of [1, 2, 3]) {
      await eventually(() => expect(asked).toHaveLength(count), 30_000);
      // All three have been received by then, if a check is answered that was sent after them.
      await service.ask("GET", "/healthz");
      expect(asked).toHaveLength(count);
      asked[count - 1].end();
    }
    expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it("are ended when the client leaves", async () => {
    service = await startService();
    const asked = heldThreads();
    const headers = { authorization: `Bearer ${service.keys.write}`, "content-type": "application/json" };
    const client = request(`${service.url}/api/v1/rules`, { method: "PUT", headers });
    client.on("error", () => {});
    client.end(JSON.stringify({ rules: rules(2_000) }));
    await eventually(() => expect(asked).toHaveLength(1), 30_000);
    expect(asked[0].signal?.aborted).toBe(false);
    client.destroy();
    await eventually(() => expect(asked[0].signal?.aborted).toBe(true), 30_000);
    // The next one need not wait for it.
    const next = service.ask("PUT", "/api/v1/rules", { body: { rules: rules(2_000) } });
    await eventually(() => expect(asked).toHaveLength(2), 30_000);
    asked[1].end();
    expect((await next).status).toBe(200);
  });

  it("may use too much memory without harm to the node", async () => {
    service = await startService();
    vi.mocked(threads.askThread).mockRejectedValue(
      Object.assign(new Error("out of memory"), { code: "ERR_WORKER_OUT_OF_MEMORY" }),
    );
    const { status, body } = await service.ask("PUT", "/api/v1/rules", { body: { rules: rules(2_000) } });
    expect([status, body.code]).toEqual([413, "body_too_large"]);
  });
});
