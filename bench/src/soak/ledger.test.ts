import { describe, expect, test } from "vitest";
import { Ledger } from "./ledger.ts";
import type { SoakRule } from "./rules.ts";

const WINDOW_MS = 5_000;
const rule: SoakRule = { id: "r", endpoint: "/r", limit: 10, onError: "local", consistency: "strict" };
const check = (cost: number) => ({ identifier: "k", endpoint: "/r", cost });
const decision = (allowed: boolean, degraded = false) => ({ allowed, degraded, remaining: 0, resetAtMs: 10_000 });

function ledgerOf() {
  const broken: string[] = [];
  const ledger = new Ledger({ workers: 1, windowMs: WINDOW_MS, broken: (invariant) => broken.push(invariant) });
  return { ledger, broken };
}

describe("a ledger", () => {
  test("accepts what the limit allows", () => {
    const { ledger, broken } = ledgerOf();
    ledger.decided(rule, check(10), decision(true), 8_000);
    ledger.decided(rule, check(1), decision(false), 8_000);
    ledger.settle(20_000, 1_000);
    expect(broken).toEqual([]);
    expect(ledger.checked).toBe(1);
  });

  test("does not check a window that may still be going on", () => {
    const { ledger } = ledgerOf();
    ledger.decided(rule, check(1), decision(true), 8_000);
    ledger.settle(10_500, 1_000);
    expect(ledger.checked).toBe(0);
  });

  test("reports over-admission", () => {
    const { ledger, broken } = ledgerOf();
    for (let i = 0; i < 11; i += 1) ledger.decided(rule, check(1), decision(true), 8_000);
    ledger.settle(20_000, 1_000);
    expect(broken).toEqual(["no window admits more than its limit"]);
  });

  test("allows another quota when the store has lost its data", () => {
    const { ledger, broken } = ledgerOf();
    for (let i = 0; i < 11; i += 1) ledger.decided(rule, check(1), decision(true), 8_000);
    ledger.lost(8_000);
    ledger.settle(20_000, 1_000);
    expect(broken).toEqual([]);
  });

  test("reports a denial that no usage explains", () => {
    const { ledger, broken } = ledgerOf();
    ledger.decided(rule, check(4), decision(true), 8_000);
    ledger.decided(rule, check(6), decision(false), 8_000);
    ledger.settle(20_000, 1_000);
    expect(broken).toEqual(["a denial is due to the limit"]);
  });

  test("explains a denial by calls whose answers were lost", () => {
    const { ledger, broken } = ledgerOf();
    ledger.decided(rule, check(4), decision(true), 8_000);
    ledger.failed(rule, check(1), 7_000);
    ledger.decided(rule, check(6), decision(false), 8_000);
    ledger.settle(20_000, 1_000);
    expect(broken).toEqual([]);
  });

  test("reports what a fallback should not have admitted", () => {
    const { ledger, broken } = ledgerOf();
    ledger.decided({ ...rule, onError: "deny" }, check(1), decision(true, true), 8_000);
    for (let i = 0; i < 11; i += 1) ledger.decided({ ...rule, endpoint: "/s" }, check(1), decision(true, true), 8_000);
    ledger.settle(20_000, 1_000);
    expect(broken).toEqual(["deny admits nothing without the store", "the fallback admits at most the limit"]);
  });

  test("counts decisions of an unknown source as the store's, or while it failed as the fallback's, too", () => {
    const untold = { ...decision(true), degraded: undefined };
    const admit = (cost: number, { isFailing }: { readonly isFailing: boolean }): readonly string[] => {
      const { ledger, broken } = ledgerOf();
      if (isFailing) ledger.decided(rule, { ...check(1), identifier: "other" }, decision(true, true), 8_000);
      for (let i = 0; i < cost; i += 1) ledger.decided(rule, check(1), untold, 8_000);
      ledger.settle(20_000, 1_000);
      return broken;
    };
    const over = ["no window admits more than its limit"];
    expect(admit(10, { isFailing: false })).toEqual([]);
    expect(admit(11, { isFailing: false })).toEqual(over);
    expect(admit(20, { isFailing: true })).toEqual([]);
    expect(admit(21, { isFailing: true })).toEqual(over);
  });

  test("explains a denial by a decision that does not say in which window it counts", () => {
    const { ledger, broken } = ledgerOf();
    ledger.decided(rule, check(4), decision(true), 8_000);
    ledger.decided(rule, check(1), { ...decision(true), resetAtMs: undefined }, 7_000);
    ledger.decided(rule, check(6), decision(false), 8_000);
    ledger.settle(20_000, 1_000);
    expect(broken).toEqual([]);
  });
});
