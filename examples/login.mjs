// A login form that stops password guessing: failed attempts are limited per account and address, per account, and
// per address. Successful logins are refunded.
import express from "express";
import { fixedWindow, rateLimiter } from "headgate";
import { rateLimit } from "headgate/express";

const limiter = rateLimiter({
  guesses: fixedWindow("3/15m", { anchor: "request" }), // one account from one address
  account: fixedWindow("100/h", { anchor: "request" }), // one account from anywhere
  address: fixedWindow("20/15m", { anchor: "request" }), // one address, any account
});

/** The account name as the user database would look it up: "Ann" and "ann " are the same account. */
const nameOf = (request) => {
  const name = request.body?.username;
  return typeof name === "string" ? name.trim().toLowerCase() : undefined;
};

const app = express();
app.use(express.urlencoded({ extended: false }));

app.get("/login", (_request, response) => {
  response.type("html").send(form(""));
});

app.post(
  "/login",
  rateLimit(limiter, {
    rules: [{ rule: "guesses", by: ["ip", nameOf] }, { rule: "account", by: nameOf }, "address"],
    refundOn: "2xx",
    onDenied(_denied, _request, response) {
      const minutes = Math.ceil(Number(response.getHeader("retry-after")) / 60);
      response.type("html").send(form(`Too many failed attempts. Try again in ${minutes} minutes.`));
    },
  }),
  (request, response) => {
    if (isCorrect(nameOf(request), request.body?.password)) response.send("welcome\n");
    else response.status(401).type("html").send(form("Wrong user name or password."));
  },
);

/** Stands in for a user database with hashed passwords. */
function isCorrect(name, password) {
  return name === "ann" && password === "correct horse";
}

function form(message) {
  return `<!doctype html>
<title>Log in</title>
<p>${message}</p>
<form method="post" action="/login">
  <label>User name <input name="username" autocomplete="username"></label>
  <label>Password <input name="password" type="password" autocomplete="current-password"></label>
  <button>Log in</button>
</form>
`;
}

const server = app.listen(process.env.PORT ?? 0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  console.log(`listening on ${url}\ntry: curl -i -d username=ann -d password=guess ${url}/login four times`);
});
