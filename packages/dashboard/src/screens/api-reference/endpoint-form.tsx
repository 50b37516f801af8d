import { useRef, useState } from "preact/hooks";
import { asProblem } from "../../api/problem.ts";
import { useMay } from "../../api/session.ts";
import type { Role } from "../../api/types.ts";
import { Badge, Note, type Tone } from "../../ui/parts.tsx";
import { Scroll } from "../../ui/scroll.tsx";
import { type Endpoint, kindOf, type Parameter } from "./openapi-document.ts";
import { curlOf, requestOf, send, type TriedAnswer, type TriedRequest } from "./try-request.ts";

const MOST_EARLIER = 40;

interface Tried {
  readonly request: TriedRequest;
  readonly answer: TriedAnswer;
}

/** The fields of an endpoint, a button that sends the request, and the latest response. */
export function EndpointForm({ endpoint }: { readonly endpoint: Endpoint }) {
  const { operation, anchor, role } = endpoint;
  const { parameters = [], requestBody } = operation;
  const content = requestBody?.content["application/json"];
  const form = useRef<HTMLFormElement>(null);
  const [tried, setTried] = useState<Tried>();
  const [statuses, setStatuses] = useState<readonly number[]>([]);
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const may = useMay((role ?? "read") as Role) || role === undefined;

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (form.current === null || isBusy) return;
    const fields = new FormData(form.current);
    const textOf = (name: string): string => String(fields.get(name) ?? "");
    const values = parameters.map((parameter) => [parameter, textOf(fieldName(parameter))] as const);
    const request = requestOf(endpoint, values, content === undefined ? undefined : textOf("body"));
    setBusy(true);
    try {
      const answer = await send(request);
      setTried({ request, answer });
      setStatuses((before) => [...before, answer.status].slice(-MOST_EARLIER));
      setFailure(undefined);
    } catch (error) {
      setFailure(asProblem(error).message);
    }
    setBusy(false);
  };

  const rare = parameters.filter(isRare);
  const usual = parameters.filter((parameter) => !isRare(parameter));
  const example = content?.example === undefined ? "{}" : JSON.stringify(content.example, null, 2);
  return (
    <div class="endpoint-body">
      <form
        class="endpoint-form"
        ref={form}
        autocomplete="off"
        onSubmit={(event) => void submit(event)}
        aria-busy={isBusy}
      >
        {usual.length > 0 && (
          <div class="fields">
            {usual.map((parameter) => (
              <ParameterField key={fieldName(parameter)} parameter={parameter} anchor={anchor} />
            ))}
          </div>
        )}
        {content && (
          <div class="field">
            <label for={`${anchor}-body`}>
              Body <small>JSON</small>
            </label>
            <textarea
              id={`${anchor}-body`}
              class="code"
              name="body"
              rows={example.split("\n").length + 1}
              spellcheck={false}
              defaultValue={example}
              onKeyDown={(event) => {
                if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
                event.preventDefault();
                form.current?.requestSubmit();
              }}
            />
            <details>
              <summary>Fields</summary>
              <dl class="definition">
                {Object.entries(content.schema.properties ?? {}).map(([name, schema]) => [
                  <dt key={name}>
                    <code>{name}</code>
                    {content.schema.required?.includes(name) ? " (required)" : ""}
                  </dt>,
                  <dd key={`${name} about`}>
                    {kindOf(schema)}
                    {schema.description ? `. ${schema.description}` : ""}
                  </dd>,
                ])}
              </dl>
            </details>
          </div>
        )}
        {rare.length > 0 && (
          <details>
            <summary>Optional headers</summary>
            <div class="fields">
              {rare.map((parameter) => (
                <ParameterField key={fieldName(parameter)} parameter={parameter} anchor={anchor} />
              ))}
            </div>
          </details>
        )}
        {!may && (
          <Note tone="warning">
            {`Sending it needs an API key with the role ${role}. `}
            <a href="#/overview">Sign in</a>
          </Note>
        )}
        <div class="actions">
          <button type="submit" class="button is-primary">
            Send
          </button>
          {content && <span class="muted">or Ctrl+Enter in the body</span>}
        </div>
      </form>
      <p class="outcome" role="status">
        {failure !== undefined && (
          <>
            <Badge tone="bad">No response</Badge> {failure}
          </>
        )}
        {failure === undefined && tried && (
          <>
            <Badge tone={toneOf(tried.answer.status)}>{tried.answer.status}</Badge> {tried.answer.statusText}{" "}
            <span class="muted">{Math.round(tried.answer.ms)} ms</span>
          </>
        )}
      </p>
      {statuses.length > 1 && (
        <ol class="earlier" aria-label="Earlier responses">
          {statuses.map((status, i) => (
            <li key={i}>
              <Badge tone={toneOf(status)}>{status}</Badge>
            </li>
          ))}
        </ol>
      )}
      {failure === undefined && tried && <Answer {...tried} needsKey={role !== undefined} />}
    </div>
  );
}

function Answer({ request, answer, needsKey }: Tried & { readonly needsKey: boolean }) {
  return (
    <div class="answer">
      {answer.text !== "" && (
        <Scroll label="Response body" isBox>
          <pre>{pretty(answer.text)}</pre>
        </Scroll>
      )}
      <details>
        <summary>Headers</summary>
        <dl class="definition headers">
          {answer.headers.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value}</dd>])}
        </dl>
      </details>
      <details>
        <summary>Same request with curl</summary>
        <Scroll label="curl" isBox>
          <pre>{curlOf(request, needsKey)}</pre>
        </Scroll>
      </details>
    </div>
  );
}

function ParameterField({ parameter, anchor }: { readonly parameter: Parameter; readonly anchor: string }) {
  const { name, in: place, required = false, description, schema = {}, example } = parameter;
  const id = `${anchor}-${fieldName(parameter)}`;
  const initial = String(schema.default ?? example ?? "");
  const common = { id, name: fieldName(parameter), ...(description && { "aria-describedby": `${id}-hint` }) };
  return (
    <div class="field">
      <label for={id}>
        {name} <small>{required ? `${place}, required` : place}</small>
      </label>
      {schema.enum ? (
        <select {...common} defaultValue={initial}>
          {schema.default === undefined && !required && <option value="">–</option>}
          {schema.enum.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input
          {...common}
          required={required}
          defaultValue={initial}
          spellcheck={false}
          {...(schema.type === "integer" && { type: "number", min: schema.minimum, max: schema.maximum })}
        />
      )}
      {description && (
        <p class="hint" id={`${id}-hint`}>
          {description}
        </p>
      )}
    </div>
  );
}

function fieldName({ name, in: place }: Parameter): string {
  return `${place}-${name}`;
}

/** Headers that most requests do not have. */
function isRare({ in: place, required, schema = {}, example }: Parameter): boolean {
  return place === "header" && !required && schema.default === undefined && example === undefined;
}

function toneOf(status: number): Tone {
  if (status < 300) return "good";
  if (status < 400) return "info";
  return status < 500 ? "warning" : "bad";
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
