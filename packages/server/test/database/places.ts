import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PostgresServer } from "headgate-testkit/postgres-server";
import Sqlite from "libsql";
import type { Place } from "./fixtures.ts";

/** New folders for embedded databases; `remove` takes all of them away. */
export class SqlitePlaces {
  private readonly root = mkdtempSync(join(tmpdir(), "headgate-database-"));
  private count = 0;

  next(): Place & { readonly file: string } {
    this.count += 1;
    const data = join(this.root, `${this.count}`);
    const file = join(data, "headgate.db");
    return {
      options: { data },
      file,
      sql: async (statements) => {
        const connection = new Sqlite(file, { timeout: 5_000 });
        connection.exec(statements);
        connection.close();
      },
    };
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

export async function postgresPlace(server: PostgresServer): Promise<Place> {
  const postgres = await server.database();
  return {
    options: { postgres },
    sql: async (statements) => {
      await server.ask(statements, postgres);
    },
  };
}
