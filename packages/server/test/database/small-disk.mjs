// Writes to a disk that is full or read-only, and prints the errors.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../../dist/database/open-database.js";

const [, , phase, disk] = process.argv;
const actor = { id: "system", name: "system" };
const options = { data: join(disk, "data") };
const codeOf = (error) => error.code ?? String(error);

async function full() {
  writeFileSync(join(disk, "filler"), Buffer.alloc(1_500_000));
  const database = await openDatabase(options);
  const write = (id) => database.users.setTier(id, "x".repeat(5_000), actor).then(({ version }) => version, codeOf);
  let written = 0;
  let answer = await write("u0");
  while (answer === 1 && written < 10_000) {
    written += 1;
    answer = await write(`u${written}`);
  }
  const readable = (await database.users.get(`u${written - 1}`)).version;
  const verified = await database.audit.verify();
  rmSync(join(disk, "filler"));
  const again = await write("again");
  const whole = await database.audit.verify();
  await database.close();
  return { written, full: answer, readable, verified, again, whole };
}

async function readOnly() {
  return { readOnly: await openDatabase(options).catch(codeOf) };
}

console.log(JSON.stringify(await { full, readOnly }[phase]()));
