import { DRAWING } from "./icon.ts";

export const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Headgate: try the API</title>
<link rel="icon" href="/docs/icon.svg">
<link rel="stylesheet" href="/docs/page.css">
<script src="/docs/page.js" defer></script>
</head>
<body>
<a class="skip" href="#routes">Skip to the routes</a>
<header>
<div class="brand">
<svg viewBox="0 0 32 32" width="40" height="40" aria-hidden="true">${DRAWING}</svg>
<div>
<h1>Headgate</h1>
<p>Try every route of the rate-limiting API.</p>
</div>
<a class="document" href="/openapi.json">openapi.json</a>
</div>
<form id="access" autocomplete="off">
<label for="key">API key</label>
<div class="secret">
<input id="key" type="password" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="key-note">
<button id="show-key" type="button" aria-pressed="false" aria-controls="key">Show</button>
</div>
<p id="key-note" class="note">Sent as a bearer token and forgotten when you close this page.</p>
</form>
<ol class="steps" aria-label="First steps">
<li>Enter your API key. The service printed it, or the name of the file that has it, when it first started.</li>
<li><a href="#post-api-v1-rules">Create a rule</a> that allows five requests a minute.</li>
<li><a href="#post-api-v1-check">Send checks</a> until one is denied.</li>
</ol>
</header>
<div class="columns">
<nav id="sections" aria-label="Sections"></nav>
<main id="routes" tabindex="-1"><p id="loading" role="status">Loading…</p></main>
</div>
<noscript><p>This page needs JavaScript. Without it, read /openapi.json.</p></noscript>
</body>
</html>
`;
