import { describe, expect, it } from "vitest";
import { atOnce, inTurns, startingNow, type Work } from "./cooperative-work.ts";

function spend(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

function* working(steps: number, ms: number): Work<number> {
  for (let i = 0; i < steps; i += 1) {
    spend(ms);
    yield;
  }
  return steps;
}

function* failing(): Work<never> {
  yield;
  throw new Error("at the second step");
}

describe("work that is done in turns", () => {
  it("comes to what it comes to at once", async () => {
    expect(atOnce(working(7, 0))).toBe(7);
    expect(await inTurns(working(7, 0))).toBe(7);
  });

  it("yields to other work in between", async () => {
    let turns = 0;
    const other = setInterval(() => {
      turns += 1;
    });
    await inTurns(working(10, 6));
    clearInterval(other);
    expect(turns).toBeGreaterThan(0);
  });

  it("is done at once if it takes at most one turn, and in turns otherwise", async () => {
    expect(startingNow(working(7, 0))).toBe(7);
    const rest = startingNow(working(3, 6));
    expect(rest).toBeInstanceOf(Promise);
    expect(await rest).toBe(3);
    expect(() => startingNow(failing())).toThrow("at the second step");
  });

  it("fails as it fails at once", async () => {
    expect(() => atOnce(failing())).toThrow("at the second step");
    await expect(inTurns(failing())).rejects.toThrow("at the second step");
  });
});
