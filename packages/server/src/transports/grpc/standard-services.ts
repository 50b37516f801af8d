import type { Server } from "@grpc/grpc-js";
import type { HealthImplementation } from "grpc-health-check";

/**
 * The health and reflection services. They are loaded with the first connection, because their protobuf library takes
 * longer to load than the rest of gRPC.
 */
export class StandardServices {
  private readonly server: Server;
  private readonly services: readonly string[];
  private readonly onError: (error: unknown) => void;
  private loading: Promise<void> | undefined;
  private health: HealthImplementation | undefined;
  private isStopping = false;

  /** `services` are the names under which the health of the server is reported. */
  constructor(server: Server, services: readonly string[], onError: (error: unknown) => void) {
    this.server = server;
    this.services = services;
    this.onError = onError;
  }

  /** Resolves when clients can call them, or when they could not be loaded, which is reported. */
  load(): Promise<void> {
    this.loading ??= this.add().catch((error: unknown) => {
      // The next connection tries again.
      this.loading = undefined;
      this.onError(error);
    });
    return this.loading;
  }

  /** Reports to watchers that the server is about to stop. */
  stop(): void {
    this.isStopping = true;
    for (const name of this.services) this.health?.setStatus(name, "NOT_SERVING");
  }

  private async add(): Promise<void> {
    const [{ HealthImplementation }, { addReflection }] = await Promise.all([
      import("grpc-health-check"),
      import("./reflection.ts"),
    ]);
    const status = this.isStopping ? "NOT_SERVING" : "SERVING";
    this.health = new HealthImplementation(Object.fromEntries(this.services.map((name) => [name, status])));
    this.health.addToServer(this.server);
    addReflection(this.server);
  }
}
