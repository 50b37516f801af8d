import { describe, expect, it } from "vitest";
import { linkTo, routeIn } from "./router.ts";

describe("an address", () => {
  it("leads back to the parts and the query that it was made of", () => {
    for (const parts of [["rules"], ["rules", "a/b ü?#%"], ["why"]]) {
      for (const query of [{}, { identifier: "a&b=c d", endpoint: "/x?y#z" }]) {
        const route = routeIn(linkTo(parts, query));
        expect([route.parts, Object.fromEntries(route.query)]).toEqual([parts, query]);
      }
    }
  });

  it("may be empty or written by hand", () => {
    expect(routeIn("").parts).toEqual([]);
    expect(routeIn("#/rules/100%").parts).toEqual(["rules", "100%"]);
    expect(routeIn("#rules//x").parts).toEqual(["rules", "x"]);
  });
});
