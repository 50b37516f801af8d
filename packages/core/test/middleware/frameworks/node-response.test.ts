import { once } from "node:events";
import { createServer as createPlainServer, get, type ServerResponse } from "node:http";
import { type ClientHttp2Session, connect, createServer, type Http2Server, type Http2ServerResponse } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { Passed } from "../../../src/middleware/admission.ts";
import type { Ending } from "../../../src/middleware/refund-on.ts";
import { isAbandoned, reportEnd, setHeaders } from "../../../src/middleware/shared/node-response.ts";

let server: Http2Server;
let client: ClientHttp2Session;

/** A server of HTTP/2 that answers every request so, and a client. */
async function serve(answer: (response: Http2ServerResponse) => void): Promise<void> {
  server = createServer((_request, response) => answer(response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

afterEach(async () => {
  client?.destroy();
  await new Promise((resolve) => {
    if (server === undefined) resolve(undefined);
    else server.close(resolve);
  });
});

/** An admission that keeps how it ended. */
function listening() {
  const endings: Ending[] = [];
  const ended = async (ending: Ending): Promise<void> => void endings.push(ending);
  const passed: Passed = { allowed: true, headers: [], decided: undefined, settle: async () => {}, ended };
  return { passed, endings };
}

describe("a response over HTTP/2", () => {
  it("has its headers, lists joined", async () => {
    await serve((response) => {
      const field = { name: "RateLimit", value: '"a";r=1', list: true } as const;
      setHeaders(response, [field, { name: "Retry-After", value: "1" }]);
      setHeaders(response, [
        { ...field, value: '"b";r=2' },
        { name: "Retry-After", value: "2" },
      ]);
      response.end();
    });
    const stream = client.request({ ":path": "/" });
    const [headers] = await once(stream, "response");
    expect(headers).toMatchObject({ ratelimit: '"a";r=1, "b";r=2', "retry-after": "2" });
    stream.close();
  });

  it("that was sent whole has ended well", async () => {
    const { passed, endings } = listening();
    await serve((response) => {
      reportEnd(response, passed);
      response.statusCode = 201;
      response.end("made");
    });
    client.request({ ":path": "/" }).resume();
    await expect.poll(() => endings).toEqual([{ status: 201, aborted: false }]);
  });

  it.each([
    ["before it began", undefined, () => {}],
    ["in the middle of it", 200, (response: Http2ServerResponse) => void response.write("a piece")],
  ])("is abandoned if the client leaves %s", async (_name, status, begin) => {
    const { passed, endings } = listening();
    const answered = new Promise<Http2ServerResponse>((resolve) => {
      void serve((response) => {
        reportEnd(response, passed);
        begin(response);
        resolve(response);
      }).then(() => client.request({ ":path": "/" }));
    });
    const response = await answered;
    expect(isAbandoned(response)).toBe(false);
    client.destroy();
    await expect.poll(() => endings).toEqual([{ status, aborted: true }]);
    expect(isAbandoned(response)).toBe(true);
    const late = listening();
    reportEnd(response, late.passed);
    expect(late.endings).toEqual([{ status, aborted: true }]);
  });
});

describe("a response over HTTP/1 whose client left before a listener was added", () => {
  it("has ended so", async () => {
    const { passed, endings } = listening();
    const plain = createPlainServer().listen(0, "127.0.0.1");
    await once(plain, "listening");
    const request = get({ port: (plain.address() as AddressInfo).port, host: "127.0.0.1", agent: false });
    request.on("error", () => {});
    const [, response] = (await once(plain, "request")) as [unknown, ServerResponse];
    const closed = once(response, "close");
    request.destroy();
    await closed;
    reportEnd(response, passed);
    expect(endings).toEqual([{ status: undefined, aborted: true }]);
    plain.close();
  });
});
