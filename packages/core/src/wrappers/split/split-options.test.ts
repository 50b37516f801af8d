import { refusal } from "headgate-testkit/refusal";
import { describe, expect, it } from "vitest";
import { type SplitOptions, split } from "./split.ts";

const silent = { send: () => new Promise(() => {}) };

function refused(options: unknown, client: unknown = silent): { code: string; field: string; message: string } {
  return refusal(() => split(client as typeof silent, options as SplitOptions));
}

describe("split refuses", () => {
  it.each([undefined, null, "redis://127.0.0.1", {}, { send: 1 }, { eval() {} }])("%j as a client", (client) => {
    expect(refused({ group: "web" }, client ?? null)).toMatchObject({ code: "HG_BAD_OPTION", field: "client" });
  });

  it.each([undefined, null, [], "web"])("%j as options", (options) => {
    expect(refused(options)).toMatchObject({ code: "HG_BAD_OPTION" });
  });

  it.each([
    ["group", {}],
    ["group", { group: "" }],
    ["group", { group: 7 }],
    ["id", { group: "web", id: "" }],
    ["id", { group: "web", id: null }],
    ["beatMs", { group: "web", beatMs: 0 }],
    ["beatMs", { group: "web", beatMs: -1 }],
    ["beatMs", { group: "web", beatMs: 0.5 }],
    ["beatMs", { group: "web", beatMs: Number.NaN }],
    ["beatMs", { group: "web", beatMs: "500" }],
    ["leaseMs", { group: "web", leaseMs: Number.POSITIVE_INFINITY }],
    ["leaseMs", { group: "web", leaseMs: 86_400_001 }],
    ["leaseMs", { group: "web", leaseMs: 449 }],
    ["leaseMs", { group: "web", beatMs: 1000 }],
    ["maxKeys", { group: "web", maxKeys: 0 }],
    ["clock", { group: "web", clock: {} }],
    ["options.leasems", { group: "web", leasems: 2000 }],
  ])("a bad %s: %j", (field, options) => {
    const { code, field: named, message } = refused(options);
    expect({ code, field: named }).toEqual({ code: "HG_BAD_OPTION", field });
    expect(message.startsWith(`${field}: `)).toBe(true);
  });

  it("a lease of fewer than three beats, and says how long it must be", () => {
    expect(refused({ group: "web", beatMs: 1000, leaseMs: 2999 }).message).toBe(
      "leaseMs: must be at least 3 times beatMs (1000), got 2999: one heartbeat may be late",
    );
  });
});
