import { useEffect, useState } from "preact/hooks";
import { api } from "../../api/client.ts";
import type { Dimension, Explanation } from "../../api/types.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { linkTo, navigate, type Route } from "../../router.ts";
import { SelectField, TextField } from "../../ui/field.tsx";
import { Badge, Card, Empty, ScreenHead, WithData } from "../../ui/parts.tsx";
import { Scroll } from "../../ui/scroll.tsx";
import { useEarlier } from "./earlier-levels.ts";
import { IdentityActions } from "./identity-actions.tsx";
import { allLimits, type Seen, withEarlier, withSeen } from "./level-history.ts";
import { Levels } from "./levels.tsx";
import "./why.css";

const EVERY_MS = 2_000;
const DIMENSIONS = [
  ["user", "User"],
  ["ip", "IP address"],
  ["apikey", "API key"],
] as const;
const METHODS = ["", "GET", "POST", "PUT", "PATCH", "DELETE"].map((name) => [name, name || "Any"] as const);

/** What to explain: whose request, and which. */
export interface Question {
  readonly dimension: Dimension;
  readonly identifier: string;
  readonly endpoint: string;
  readonly method: string;
}

/** Why a request passes or is denied, and what can be done about it. */
export function Why({ route }: { readonly route: Route }) {
  const asked = questionIn(route.query);
  return (
    <div class="screen">
      <ScreenHead title="Why">
        Which rules a request matches, how much quota is left, and when the next request passes. Nothing is charged.
      </ScreenHead>
      <QuestionForm key={route.query.toString()} asked={asked} />
      {asked.identifier !== "" && asked.endpoint !== "" ? (
        <Answer key={route.query.toString()} question={asked} />
      ) : (
        <Card>
          <Empty title="Whose request is it?">
            Enter who makes the request and its path: for example user 12345 and /api/v1/orders.
          </Empty>
        </Card>
      )}
    </div>
  );
}

function questionIn(query: URLSearchParams): Question {
  const dimension = query.get("dimension");
  return {
    dimension: dimension === "ip" || dimension === "apikey" ? dimension : "user",
    identifier: query.get("identifier") ?? "",
    endpoint: query.get("endpoint") ?? "",
    method: query.get("method") ?? "",
  };
}

function QuestionForm({ asked }: { readonly asked: Question }) {
  const [question, setQuestion] = useState(asked);
  const [wasSent, setSent] = useState(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    setSent(true);
    const { identifier, endpoint } = question;
    if (identifier.trim() !== "" && endpoint.trim() !== "") navigate(linkTo(["why"], { ...question }));
  };
  const missing = (text: string): string | undefined => (wasSent && text.trim() === "" ? "is required" : undefined);
  const set = (field: keyof Question) => (value: string) => setQuestion((before) => ({ ...before, [field]: value }));
  return (
    <Card>
      <form onSubmit={submit} autocomplete="off" class="question" noValidate>
        <SelectField label="Who" value={question.dimension} options={DIMENSIONS} onChange={set("dimension")} />
        <TextField
          label="Identifier"
          placeholder="12345"
          isRequired
          value={question.identifier}
          onChange={set("identifier")}
          problem={missing(question.identifier)}
        />
        <TextField
          label="Path"
          placeholder="/api/v1/orders"
          isRequired
          value={question.endpoint}
          onChange={set("endpoint")}
          problem={missing(question.endpoint)}
        />
        <SelectField label="Method" value={question.method} options={METHODS} onChange={set("method")} />
        <button type="submit" class="button is-primary">
          Explain
        </button>
      </form>
    </Card>
  );
}

function Answer({ question }: { readonly question: Question }) {
  const { method, ...rest } = question;
  const query = new URLSearchParams({ ...rest, ...(method !== "" && { method }) });
  const loaded = useLoaded((signal) => api.get<Explanation>(`/api/v1/explain?${query}`, signal), [], EVERY_MS);
  const [seen, setSeen] = useState<readonly Seen[]>([]);
  useEffect(() => {
    const { data } = loaded;
    if (data !== undefined) setSeen((before) => withSeen(before, { at: Date.now(), levels: allLimits(data) }));
  }, [loaded.data]);
  const earlier = useEarlier(question.identifier, loaded.data);
  return (
    <WithData of={loaded}>
      {(explanation) => (
        <>
          <Verdict explanation={explanation} />
          <IdentityActions question={question} explanation={explanation} reload={loaded.reload} />
          <Levels explanation={explanation} seen={withEarlier(earlier, seen)} earlier={earlier} />
          <MatchingRules explanation={explanation} />
        </>
      )}
    </WithData>
  );
}

function Verdict({ explanation }: { readonly explanation: Explanation }) {
  const { answer, summary, tier } = explanation;
  return (
    <div class={answer.allowed ? "note-box is-good" : "note-box is-bad"} role="status">
      <strong>{answer.allowed ? "The next request passes" : "The next request is denied"}</strong>
      <span>{summary}</span>
      {tier !== null && <span>{`The user's tier is ${tier}.`}</span>}
    </div>
  );
}

function MatchingRules({ explanation: { rules } }: { readonly explanation: Explanation }) {
  if (rules.length === 0) {
    return (
      <Card title="Rules">
        <Empty
          title="No rule matches this path"
          actions={
            <a class="button" href="#/rules">
              See the rules
            </a>
          }
        >
          The request passes without being counted.
        </Empty>
      </Card>
    );
  }
  return (
    <Card title="Rules" note="All that match the path" isFlush>
      <Scroll label="Rules">
        <table>
          <thead>
            <tr>
              <th scope="col">Rule</th>
              <th scope="col">Applies</th>
              <th scope="col">Why</th>
            </tr>
          </thead>
          <tbody>
            {rules.map(({ rule_id, name, endpoint_pattern, methods, mode, applies, why }) => (
              <tr key={rule_id}>
                <th scope="row">
                  <a href={linkTo(["rules", rule_id])}>{name}</a>
                  <div class="muted">
                    <code>
                      {methods !== null && `${methods.join(", ")} `}
                      {endpoint_pattern}
                    </code>
                  </div>
                </th>
                <td>
                  <Badge tone={applies ? (mode === "shadow" ? "warning" : "good") : "plain"}>
                    {applies ? (mode === "shadow" ? "In shadow" : "Yes") : "No"}
                  </Badge>
                </td>
                <td>{why}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
}
