import { afterAll } from "vitest";
import { describeDatabase } from "./contract.ts";
import { describeLargeChanges } from "./large-changes.ts";
import { SqlitePlaces } from "./places.ts";

const places = new SqlitePlaces();
afterAll(() => places.remove());

describeDatabase("SQLite", async () => places.next());
describeLargeChanges("SQLite", async () => places.next());
