import { describe, expect, it } from "vitest";
import { userId } from "../../../src/middleware/shared/authenticated-user.ts";

describe("the user that a framework keeps", () => {
  it.each([
    ["ann", "ann"],
    [7, "7"],
    [7n, "7"],
    [{ id: "ann", sub: "x" }, "ann"],
    [{ id: 7 }, "7"],
    [{ sub: "auth0|ann" }, "auth0|ann"],
    [{ id: null, sub: "ann" }, "ann"],
    [undefined, undefined],
    [null, undefined],
  ])("%o is known as %o", (user, id) => {
    expect(userId(user)).toBe(id);
  });

  it.each([[{}], [{ name: "ann" }], [{ id: {} }], [true], [() => "ann"]])(
    "is an error if it cannot be identified, rather than one quota for all: %o",
    (user) => {
      expect(() => userId(user)).toThrow(expect.objectContaining({ code: "HG_BAD_KEY", field: "by" }));
    },
  );
});
