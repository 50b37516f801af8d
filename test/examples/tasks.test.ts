import { describe, expect, it, onTestFinished } from "vitest";
import { startExample, statuses } from "./example.ts";

async function started(name: string) {
  const example = await startExample(name);
  onTestFinished(() => example.stop());
  return example;
}

describe("the login form", () => {
  const attempt = (username: string, password: string): RequestInit => ({
    method: "POST",
    body: new URLSearchParams({ username, password }),
  });

  it("denies the fourth wrong password for an account, and no other account", async () => {
    const example = await started("login");
    const wrong = await example.callTimes(4, "/login", attempt("ann", "guess"));
    expect(statuses(wrong)).toEqual([401, 401, 401, 429]);
    expect(wrong[3].text).toContain("Too many failed attempts. Try again in 15 minutes.");
    expect(wrong[3].headers.get("content-type")).toContain("text/html");
    // Neither another spelling of the name nor the right password helps.
    expect((await example.call("/login", attempt(" ANN ", "guess"))).status).toBe(429);
    expect((await example.call("/login", attempt("ann", "correct horse"))).status).toBe(429);
    expect((await example.call("/login", attempt("bob", "guess"))).status).toBe(401);
  });

  it("does not count successful logins", async () => {
    const example = await started("login");
    await example.callTimes(2, "/login", attempt("ann", "guess"));
    const correct = await example.callTimes(5, "/login", attempt("ann", "correct horse"));
    expect(statuses(correct)).toEqual([200, 200, 200, 200, 200]);
    expect(statuses(await example.callTimes(2, "/login", attempt("ann", "guess")))).toEqual([401, 429]);
  });

  it("limits the accounts that one address can try", async () => {
    const example = await started("login");
    const calls = [];
    for (let i = 0; i < 21; i += 1) calls.push(await example.call("/login", attempt(`user-${i}`, "123456")));
    expect(statuses(calls)).toEqual([...Array<number>(20).fill(401), 429]);
  });
});

it("tenants have the limit of their plan, or one of their own", async () => {
  const example = await started("tenants");
  const call = (key: string) => example.call("/", { headers: { "x-api-key": key } });
  const admitted = async (key: string) => {
    for (let count = 0; ; count += 1) if ((await call(key)).status !== 200) return count;
  };
  expect((await call("key-acme")).text).toBe("acme: 7 of 8 left under tenant:acme\n");
  expect([await admitted("key-initech"), await admitted("key-globex"), await admitted("key-acme")]).toEqual([2, 5, 7]);
  expect((await call("key-unknown")).status).toBe(401);
});

it("nginx asks the service about each request, and the application sees only what is admitted", async () => {
  const example = await started("nginx");
  const calls = await example.callTimes(4, "/pages/1");
  expect(statuses(calls)).toEqual([200, 200, 200, 429]);
  expect(calls[0].text).toBe("the application serves /pages/1\n");
  expect(calls[0].headers.get("ratelimit")).toMatch(/r=2/);
  expect(Number(calls[3].headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await example.call("/other")).text).toBe("the application serves /other\n");
});
