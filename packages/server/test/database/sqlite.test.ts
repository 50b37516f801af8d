import { afterAll } from "vitest";
import { describeDatabase } from "./contract.ts";
import { SqlitePlaces } from "./places.ts";

const places = new SqlitePlaces();
afterAll(() => places.remove());

describeDatabase("SQLite", async () => places.next());
