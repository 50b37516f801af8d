import { createRequire } from "node:module";

// As CommonJS: kysely consists of some 300 files, and Node loads them as ES modules in almost twice the time.
const kysely: typeof import("kysely") = createRequire(import.meta.url)("kysely");

export const { Kysely, Migrator, PostgresDialect, SqliteAdapter, SqliteDialect, SqliteDriver, sql } = kysely;
