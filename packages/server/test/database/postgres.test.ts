import { type PostgresServer, startPostgres } from "headgate-testkit/postgres-server";
import { afterAll, beforeAll } from "vitest";
import { describeDatabase } from "./contract.ts";
import { describeLargeChanges } from "./large-changes.ts";
import { postgresPlace } from "./places.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres({ fsync: "off" });
});
afterAll(() => server.stop());

describeDatabase("PostgreSQL", () => postgresPlace(server));
describeLargeChanges("PostgreSQL", () => postgresPlace(server));
