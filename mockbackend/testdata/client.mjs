// Calls each URL of the list on standard input ({ca, calls: [{name, url, way,
// ms}]}) and prints what came of it ({name: {status, body, error, label}}), body
// being its length, label the media type that fetch saw. A call that is not over
// after ms milliseconds is a timeout.
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";

let text = "";
for await (const chunk of process.stdin) text += chunk;
const { ca, calls } = JSON.parse(text);

function http1({ url, ms }) {
  return new Promise((resolve) => {
    const got = { status: 0, body: 0, error: "" };
    const secure = url.startsWith("https:");
    const options = secure ? { ca, agent: false } : { agent: false };
    const request = (secure ? https : http).get(url, options);
    const timer = setTimeout(() => end("timeout"), ms);
    const end = (error) => {
      clearTimeout(timer);
      got.error ||= error;
      resolve(got);
      request.destroy();
    };
    request.on("error", (e) => end(`${e.code}: ${e.message}`));
    request.on("response", (response) => {
      got.status = response.statusCode;
      response.on("data", (data) => (got.body += data.length));
      response.on("error", (e) => end(`${e.code}: ${e.message}`));
      response.on("end", () => end(""));
    });
  });
}

function overHTTP2({ url, ms }) {
  return new Promise((resolve) => {
    const got = { status: 0, body: 0, error: "" };
    const session = http2.connect(url, { ca });
    const timer = setTimeout(() => end("timeout"), ms);
    const end = (error) => {
      clearTimeout(timer);
      got.error ||= error;
      resolve(got);
      session.destroy();
    };
    session.on("error", (e) => end(`${e.code}: ${e.message}`));
    const request = session.request({ ":path": new URL(url).pathname });
    request.on("error", (e) => end(`${e.code}: ${e.message}`));
    request.on("response", (headers) => (got.status = headers[":status"]));
    request.on("data", (data) => (got.body += data.length));
    request.on("end", () => end(""));
  });
}

// fetch unpacks bodies and follows redirects, which node:http does not.
async function withFetch({ url }) {
  const got = { status: 0, body: 0, error: "" };
  try {
    const response = await fetch(url);
    got.status = response.status;
    got.label = response.headers.get("content-type");
    for await (const data of response.body) got.body += data.length;
  } catch (e) {
    const cause = e.cause ?? e;
    got.error = `${cause.code ?? cause.name}: ${cause.message}`;
  }
  return got;
}

const ways = { http1, http2: overHTTP2, fetch: withFetch };
const results = await Promise.all(calls.map((c) => ways[c.way](c)));
console.log(JSON.stringify(Object.fromEntries(calls.map((c, i) => [c.name, results[i]]))));
process.exit(0);
