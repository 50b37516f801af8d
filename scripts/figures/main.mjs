// Writes the figures of the documentation: node scripts/figures/main.mjs [FOLDER], docs/figures by default.
// The library computes what they show; a test checks that the files in docs/figures are up to date.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { algorithmsFigure } from "./algorithms.mjs";
import { compositionFigure } from "./composition.mjs";
import { leaseFigure } from "./lease.mjs";

const folder = process.argv[2] ?? fileURLToPath(new URL("../../docs/figures", import.meta.url));
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "algorithms.svg"), algorithmsFigure());
writeFileSync(join(folder, "lease.svg"), await leaseFigure());
writeFileSync(join(folder, "composition.svg"), await compositionFigure());
