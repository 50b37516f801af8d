import type { MakeChecker } from "./subject.ts";

interface Hits {
  readonly isBlocked: boolean;
}

const DEFAULT_SWEEP_MS = 60_000;

export async function load(): Promise<MakeChecker> {
  await import("reflect-metadata");
  const { ThrottlerStorageService } = await import("@nestjs/throttler");
  return ({ limit, windowMs }) => {
    class Storage extends ThrottlerStorageService {
      // It sweeps once a minute, too rarely for the short windows used here.
      protected override readonly sweepIntervalMs = Math.min(windowMs, DEFAULT_SWEEP_MS);
    }
    const storage = new Storage();
    return {
      kind: "async",
      check: (key) => storage.increment(key, windowMs, limit, 0, "default"),
      allowed: ({ isBlocked }: Hits) => !isBlocked,
    };
  };
}
