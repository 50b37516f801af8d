export const REQUEST = String.raw`/** Builds a request from the fields of a route. */
function requestOf(method, path, parameters, body) {
  const query = new URLSearchParams();
  const headers = {};
  for (const { name, in: place, control } of parameters) {
    const { value } = control;
    if (place === "path") path = path.replace("{" + name + "}", encodeURIComponent(value));
    else if (value !== "" && place === "query") query.set(name, value);
    else if (value !== "" && place === "header") headers[name] = value;
  }
  if (body) headers["content-type"] = "application/json";
  const url = query.size > 0 ? path + "?" + query : path;
  return { method: method.toUpperCase(), url, headers, body: body && body.value };
}

async function send({ url, method, headers, body }) {
  const key = document.getElementById("key").value.trim();
  const access = key === "" ? {} : { authorization: "Bearer " + key };
  const start = performance.now();
  const response = await fetch(url, { method, headers: { ...headers, ...access }, body, credentials: "omit" });
  const text = await response.text();
  const { status, statusText } = response;
  return { status, statusText, headers: [...response.headers], text, ms: performance.now() - start };
}

/** The request as a curl command, without the key. */
function curlOf({ url, method, headers, body }, needsKey) {
  const quoted = (text) => "'" + text.replaceAll("'", "'\\''") + "'";
  const parts = ["curl -i -X " + method + " " + quoted(location.origin + url)];
  if (needsKey) parts.push('-H "Authorization: Bearer $KEY"');
  for (const [name, value] of Object.entries(headers)) parts.push("-H " + quoted(name + ": " + value));
  if (body) parts.push("-d " + quoted(body));
  return parts.join(" \\\n  ");
}
`;
