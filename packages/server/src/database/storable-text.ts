import { createHash } from "node:crypto";
import { HeadgateError } from "headgate";

/** Maximum length of an id that is indexed: PostgreSQL's index entries are limited to about 2,700 bytes. */
export const LONGEST_ID = 512;

const LONE_SURROGATES = /\p{Surrogate}/gu;

/** Whether a row can have this id; otherwise there is no need to look for it. */
export function canBeId(id: string): boolean {
  return id.length <= LONGEST_ID && isStorable(id);
}

/** Rejects fields that cannot be stored unchanged. Fields whose name ends in `_id` are ids. */
export function requireStorable(fields: object): void {
  for (const [field, value] of Object.entries(fields)) {
    if (typeof value !== "string") continue;
    if (!isStorable(value)) {
      throw new HeadgateError(
        "HG_BAD_OPTION",
        field,
        "must not contain a NUL or an unpaired surrogate, which databases cannot store",
      );
    }
    if (field.endsWith("_id") && value.length > LONGEST_ID) {
      throw new HeadgateError(
        "HG_BAD_OPTION",
        field,
        `must have at most ${LONGEST_ID} characters, got ${value.length}`,
      );
    }
  }
}

/** Converts any text to a form that the audit log can store. */
export function auditable(text: string): string {
  const storable = isStorable(text) ? text : JSON.stringify(text);
  if (storable.length <= LONGEST_ID) return storable;
  const digest = createHash("sha256").update(JSON.stringify(text)).digest("hex");
  return `${storable.slice(0, LONGEST_ID - 100).replace(LONE_SURROGATES, "")}… sha256:${digest}`;
}

/** PostgreSQL cannot store NUL, and UTF-8 has no lone surrogates. */
function isStorable(text: string): boolean {
  return !text.includes("\0") && text.search(LONE_SURROGATES) < 0;
}
