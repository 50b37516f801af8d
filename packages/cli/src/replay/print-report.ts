import { writeFile } from "node:fs/promises";
import { type ReplayReport, type ReportPage, reportHtml, reportJson, reportText } from "headgate-simulator";
import { InvalidInput } from "../failure.ts";

export interface ReportOutput {
  readonly page: ReportPage;
  /** Where to write the report as a page, if anywhere. */
  readonly html?: string;
  /** What JSON says besides the report. Without it, the report is printed as text. */
  readonly json?: Readonly<Record<string, unknown>> | undefined;
}

/** Prints a report, and also writes it as a page if the options say so. */
export async function printReport(report: ReplayReport, { page, html, json }: ReportOutput): Promise<void> {
  if (html !== undefined) await writePage(html, reportHtml(report, page));
  if (json !== undefined) {
    process.stdout.write(`${JSON.stringify({ ...json, ...reportJson(report) })}\n`);
    return;
  }
  for (const note of page.notes ?? []) process.stdout.write(`${note}\n`);
  process.stdout.write(reportText(report, page));
}

async function writePage(path: string, html: string): Promise<void> {
  try {
    await writeFile(path, html);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
    throw new InvalidInput(`--html: ${path} cannot be written${code}`, { cause: error });
  }
}
