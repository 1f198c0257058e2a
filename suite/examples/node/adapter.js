// The adapter: what Touchstone asks a target, answered by this implementation.
//
//   node adapter.js               JSON-RPC 2.0, one message a line on stdin and stdout
//   node adapter.js --http PORT   the same messages as POST to http://127.0.0.1:PORT (0: any free port)
//
// Standard error is the log.

import http from 'node:http';
import { createRequire } from 'node:module';
import { text as readText } from 'node:stream/consumers';
import { mapResponse } from './envelope.js';
import { invoke } from './orders.js';
import { refuse } from './refuse.js';

const { name, version } = createRequire(import.meta.url)('./package.json');
let settings;

const METHODS = new Map(Object.entries({
  describe: () => ({
    protocol: 1,
    name,
    version,
    profiles: ['envelope-core'],
    features: ['map', 'refuse', 'invoke', 'host-recognisers', 'error-flag'],
  }),
  configure: (params) => {
    settings = params;
    return {};
  },
  map: ({ response: { bodyBase64, ...response }, fields, hostRecognises }) => {
    if (bodyBase64 !== undefined) response.body = Buffer.from(bodyBase64, 'base64');
    return mapResponse(response, fields, [() => hostRecognises]);
  },
  refuse,
  invoke: (params) => {
    if (!settings) throw new Error('invoke was called before configure');
    return invoke(params, settings);
  },
}));

// The response to one message, as JSON text.
async function answer(message) {
  let id = null;
  const failure = (code, text) => JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: text } });
  try {
    let request;
    try {
      request = JSON.parse(message);
    } catch (error) {
      return failure(-32700, `not JSON: ${error.message}`);
    }
    if (request?.jsonrpc !== '2.0' || !Number.isSafeInteger(request.id)) {
      return failure(-32600, 'not a JSON-RPC 2.0 request with an integer id');
    }
    id = request.id;
    const method = METHODS.get(request.method);
    if (!method) return failure(-32601, `no method ${request.method}`);
    return JSON.stringify({ jsonrpc: '2.0', id, result: await method(request.params ?? {}) });
  } catch (error) {
    console.error(error);
    return failure(-32603, error.message);
  }
}

// Answers go out as they are ready: a slow backend holds up no other call.
async function serveLines() {
  for await (const line of lines(process.stdin)) {
    if (line.trim() !== '') answer(line).then((text) => process.stdout.write(`${text}\n`));
  }
}

// Not node:readline, which in many releases also ends a line at U+2028, a character JSON strings may hold.
async function* lines(stream) {
  let pending = [];
  for await (const chunk of stream.setEncoding('utf8')) {
    const [end, ...starts] = chunk.split('\n');
    pending.push(end);
    for (const start of starts) {
      yield pending.join('');
      pending = [start];
    }
  }
}

function serveHttp(port) {
  const handle = async (request, response) => {
    if (request.method !== 'POST') return response.writeHead(405, { Allow: 'POST' }).end();
    const text = await answer(await readText(request));
    return response.writeHead(200, { 'Content-Type': 'application/json' }).end(text);
  };
  const server = http.createServer((request, response) => {
    handle(request, response).catch((error) => response.destroy(error)); // the client went away
  });
  server.keepAliveTimeout = 0; // never: an idle connection must not close under the next request
  server.listen(port, '127.0.0.1', () => {
    console.log(`listening on http://127.0.0.1:${server.address().port}`);
  });
}

const [flag, port] = process.argv.slice(2);
if (flag === undefined) {
  await serveLines();
} else if (flag === '--http' && /^\d+$/.test(port)) {
  serveHttp(Number(port));
} else {
  console.error('usage: node adapter.js [--http PORT]');
  process.exitCode = 2;
}
