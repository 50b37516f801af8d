import { describe, expect, it } from "vitest";
import { problemOf } from "./problem-details.ts";

describe("the body of a refusal", () => {
  it("is a problem of RFC 9457, of the draft's type, and names the policies", () => {
    expect(problemOf("quota-exceeded", ["daily", "bandwidth"])).toEqual({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      title: "Quota exceeded",
      status: 429,
      "violated-policies": ["daily", "bandwidth"],
    });
  });

  it("is another when it is the server that lacks capacity", () => {
    expect(problemOf("temporary-reduced-capacity", ["hourly"])).toMatchObject({
      type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
      status: 503,
    });
  });
});
