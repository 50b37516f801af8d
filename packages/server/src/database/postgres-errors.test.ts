import { describe, expect, it } from "vitest";
import { postgresError } from "./postgres-errors.ts";

describe("an error of PostgreSQL", () => {
  it.each([
    ["08006", "HG_DATABASE_UNREACHABLE"],
    ["57P01", "HG_DATABASE_UNREACHABLE"],
    ["57P03", "HG_DATABASE_UNREACHABLE"],
    ["53300", "HG_DATABASE_UNREACHABLE"],
    ["ECONNRESET", "HG_DATABASE_UNREACHABLE"],
    [undefined, "HG_DATABASE_UNREACHABLE"],
    ["28P01", "HG_DATABASE_REFUSED"],
    ["42501", "HG_DATABASE_REFUSED"],
    ["25006", "HG_DATABASE_READ_ONLY"],
    ["53100", "HG_DATABASE_FULL"],
    ["XX001", "HG_DATABASE_CORRUPT"],
    ["57014", "HG_DATABASE_LOCKED"],
    ["55P03", "HG_DATABASE_LOCKED"],
    ["40P01", "HG_DATABASE_LOCKED"],
    ["42P01", "HG_DATABASE_FAILED"],
  ])("with the code %s is %s", (code, expected) => {
    const cause = Object.assign(new Error("as it was said"), { code });
    const error = postgresError(cause, "postgres://host/name");
    expect(error).toMatchObject({ name: "DatabaseError", code: expected, cause });
    expect(error.message).toMatch(/^database: postgres:\/\/host\/name: .+ \(as it was said\)$/);
  });
});
