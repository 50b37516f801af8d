import type { AuditEntry } from "../../api/types.ts";
import { Scroll } from "../../ui/scroll.tsx";

/** The fields that an entry changed: from what, to what. */
export function EntryDetails({ entry: { before, after } }: { readonly entry: AuditEntry }) {
  const changes = changedFields(before, after);
  if (changes.length === 0) return <p class="muted">It has no further details.</p>;
  return (
    <Scroll label="Changed fields">
      <table class="diff">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(([field, from, to]) => (
            <tr key={field}>
              <th scope="row">
                <code>{field}</code>
              </th>
              <td>{from === "" ? <span class="muted">none</span> : <del>{from}</del>}</td>
              <td>{to === "" ? <span class="muted">none</span> : <ins>{to}</ins>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function changedFields(before: unknown, after: unknown): (readonly [string, string, string])[] {
  const [from, to] = [fieldsOf(before), fieldsOf(after)];
  return [...new Set([...Object.keys(from), ...Object.keys(to)])]
    .map((field) => [field, shown(from[field]), shown(to[field])] as const)
    .filter(([, from, to]) => from !== to);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  return value === null || value === undefined ? {} : { value };
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
