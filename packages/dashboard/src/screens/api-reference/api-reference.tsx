import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../../api/client.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import type { Route } from "../../router.ts";
import { Badge, Card, Empty, ScreenHead, type Tone, WithData } from "../../ui/parts.tsx";
import { EndpointForm } from "./endpoint-form.tsx";
import { type Endpoint, endpointsOf, type OpenApi } from "./openapi-document.ts";
import "./api-reference.css";

const METHOD_TONES: Readonly<Record<string, Tone>> = { get: "info", post: "good", put: "warning", delete: "bad" };

/** Every route of the REST API, with a form that sends requests to it. */
export function ApiReference({ route }: { readonly route: Route }) {
  const document = useLoaded((signal) => api.get<OpenApi>("/openapi.json", signal), []);
  const [search, setSearch] = useState("");
  return (
    <div class="screen">
      <ScreenHead
        title="API reference"
        actions={
          <a class="button" href="/openapi.json">
            openapi.json
          </a>
        }
      >
        Every route, its fields and the role it needs. Requests are sent with your session.
      </ScreenHead>
      <div class="field api-search">
        <label for="api-search">Search</label>
        <input
          id="api-search"
          type="search"
          placeholder="Path or description"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
      </div>
      <WithData of={document}>
        {(data) => <Sections document={data} search={search} opened={route.parts[1]} />}
      </WithData>
    </div>
  );
}

function Sections({
  document,
  search,
  opened,
}: {
  readonly document: OpenApi;
  readonly search: string;
  readonly opened: string | undefined;
}) {
  const words = search.toLowerCase();
  const isFound = ({ path, operation: { summary = "" } }: Endpoint): boolean =>
    `${path} ${summary}`.toLowerCase().includes(words);
  const sections = document.tags
    .map((tag) => ({ ...tag, endpoints: endpointsOf(document, tag.name).filter(isFound) }))
    .filter(({ endpoints }) => endpoints.length > 0);
  if (sections.length === 0) {
    return (
      <Card>
        <Empty title="No route matches">Search for a part of a path, such as /rules, or for what it does.</Empty>
      </Card>
    );
  }
  return (
    <>
      {sections.map(({ name, description, endpoints }) => (
        <Card key={name} title={name.charAt(0).toUpperCase() + name.slice(1)} note={description} isFlush>
          {endpoints.map((endpoint) => (
            <EndpointRow key={endpoint.anchor} endpoint={endpoint} isNamed={endpoint.anchor === opened} />
          ))}
        </Card>
      ))}
    </>
  );
}

function EndpointRow({ endpoint, isNamed }: { readonly endpoint: Endpoint; readonly isNamed: boolean }) {
  const { method, path, operation, anchor, role } = endpoint;
  const [wasOpened, setOpened] = useState(isNamed);
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (!isNamed) return undefined;
    // After the frame of the page, which begins each screen at its top.
    const frame = requestAnimationFrame(() => {
      if (details.current === null) return;
      details.current.open = true;
      details.current.scrollIntoView();
      details.current.querySelector("summary")?.focus();
    });
    return () => cancelAnimationFrame(frame);
  }, [isNamed]);
  return (
    <details class="endpoint" id={anchor} ref={details} onToggle={() => setOpened(true)}>
      <summary>
        <Badge tone={METHOD_TONES[method] ?? "plain"}>{method.toUpperCase()}</Badge>
        <code class="path">{path}</code>
        <span class="what">{operation.summary}</span>
        {role && <span class="muted">role: {role}</span>}
      </summary>
      {wasOpened && <EndpointForm endpoint={endpoint} />}
    </details>
  );
}
