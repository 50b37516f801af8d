// Tenants with their own limits: a rule per plan, and one for each tenant that has negotiated a limit.
import express from "express";
import { fixedWindow, limitFromSpec, rateLimiter } from "headgate";
import { rateLimit } from "headgate/express";

// Stands in for a database. A tenant has a plan, and may have a limit of its own.
const tenants = new Map([
  ["key-acme", { id: "acme", plan: "pro", limit: { algorithm: "fixed_window", limit: 8, window: 3600 } }],
  ["key-globex", { id: "globex", plan: "pro" }],
  ["key-initech", { id: "initech", plan: "free" }],
]);

const negotiated = [...tenants.values()].filter(({ limit }) => limit !== undefined);
const limiter = rateLimiter({
  free: fixedWindow("2/h"),
  pro: fixedWindow("5/h"),
  ...Object.fromEntries(negotiated.map(({ id, limit }) => [`tenant:${id}`, limitFromSpec(limit)])),
});

const ruleOf = ({ id, plan, limit }) => (limit === undefined ? plan : `tenant:${id}`);
const by = (request) => request.tenant.id;
const limits = new Map(
  ["free", "pro", ...negotiated.map(ruleOf)].map((rule) => [rule, rateLimit(limiter, { rules: rule, by })]),
);

const app = express();
app.use((request, response, next) => {
  request.tenant = tenants.get(request.get("x-api-key"));
  if (request.tenant === undefined) response.status(401).send("unknown API key\n");
  else limits.get(ruleOf(request.tenant))(request, response, next);
});
app.get("/", (request, response) => {
  const { rule, limit, remaining } = request.rateLimit.decided;
  response.send(`${request.tenant.id}: ${remaining} of ${limit} left under ${rule}\n`);
});

const server = app.listen(process.env.PORT ?? 0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  console.log(
    `listening on ${url}\ntry: curl -i -H 'x-api-key: key-initech' ${url}/ three times, then key-globex and key-acme`,
  );
});
