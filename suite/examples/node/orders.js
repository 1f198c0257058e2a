// The smallest useful `invoke`: two operations of the sample orders API, composed, sent to the
// backend under a deadline, and the response mapped.

import http from 'node:http';
import https from 'node:https';
import { mapResponse, sdkError } from './envelope.js';

export const OPERATIONS = new Map([
  ['get_order', {
    method: 'GET',
    path: '/orders/{id}',
    parameters: {
      id: { in: 'path', type: 'integer' },
      'X-Trace-Tag': { in: 'header', type: 'string' },
      expand: { in: 'query', type: 'string' },
      'include[]': { in: 'query', type: 'array' },
    },
  }],
  ['create_order', {
    method: 'POST',
    path: '/orders',
    parameters: {
      item: { in: 'body', type: 'string' },
      quantity: { in: 'body', type: 'integer' },
      note: { in: 'body', type: 'string' },
    },
  }],
]);

const IS = {
  integer: Number.isSafeInteger,
  string: (value) => typeof value === 'string',
  array: Array.isArray,
};

const MAX_HEADER_BYTES = 1 << 20;
const MAX_TIMER_MS = 2 ** 31 - 1; // Node fires a longer timer at once, or refuses it

class Refusal extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * Runs one operation and gives the answer to it, never an exception for what an agent or a
 * backend did wrong.
 *
 * @param call `{name, arguments}` as the agent gave them.
 * @param settings `{backendUrl, timeoutMs}`; a timeout of 0 is none.
 */
export async function invoke({ name, arguments: args }, { backendUrl, timeoutMs }) {
  try {
    const operation = OPERATIONS.get(name);
    if (!operation) {
      const hint = 'Use search_tools to find the exact name.';
      throw new Refusal('unknown_tool', `No operation named '${name}'. ${hint}`);
    }
    const response = await send(compose(operation, readArguments(args), backendUrl), timeoutMs);
    return mapResponse(response, { known: Object.keys(operation.parameters) });
  } catch (error) {
    if (error instanceof Refusal) return sdkError(error.code, error.message);
    throw error;
  }
}

// CARRIER-07: null is no arguments, and a string may hold the object.
function readArguments(given) {
  let args = given ?? {};
  if (typeof args === 'string') {
    try {
      args = JSON.parse(args);
    } catch {
      // not JSON: refused below as the string it is
    }
  }
  if (typeof args === 'object' && args !== null && !Array.isArray(args)) return args;
  const kind = Array.isArray(given) ? 'array' : typeof given;
  throw new Refusal('invalid_type', `The arguments must be an object, not a value of type ${kind}.`);
}

function compose({ method, path, parameters }, args, backendUrl) {
  const names = Object.keys(parameters);
  const unknown = Object.keys(args).filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    const allowed = names.join(', ');
    throw new Refusal('unknown_argument', `Unknown argument(s): ${unknown.join(', ')}. Allowed: ${allowed}.`);
  }
  const query = new URLSearchParams();
  const headers = {};
  const body = {};
  for (const [name, parameter] of Object.entries(parameters)) {
    const value = args[name];
    if (value === undefined) {
      if (parameter.in !== 'path') continue;
      throw new Refusal('missing_path_parameter', `Argument '${name}' is required.`);
    }
    check(name, value, parameter);
    if (parameter.in === 'path') path = path.replace(`{${name}}`, value);
    if (parameter.in === 'query') for (const one of [value].flat()) query.append(name, one);
    if (parameter.in === 'header') headers[name] = Buffer.from(value).toString('latin1');
    if (parameter.in === 'body') body[name] = value;
  }
  const url = new URL(backendUrl + path);
  url.search = query;
  if (method === 'GET') return { url, method, headers };
  const content = Buffer.from(JSON.stringify(body));
  headers['Content-Type'] = 'application/json';
  headers['Content-Length'] = content.length;
  return { url, method, headers, content };
}

function check(name, value, parameter) {
  if (value === null && ['query', 'header'].includes(parameter.in)) {
    throw new Refusal('null_not_allowed', `Argument '${name}' must not be null; leave it out instead.`);
  }
  if (!IS[parameter.type](value)) {
    const code = parameter.in === 'path' ? 'invalid_path_type' : 'invalid_type';
    throw new Refusal(code, `Argument '${name}' must be of type ${parameter.type}.`);
  }
  if (parameter.in === 'header' && /[\0-\x08\x0a-\x1f\x7f]/.test(value)) {
    throw new Refusal('header_injection', `Argument '${name}' must not hold control characters.`);
  }
}

// node:http and not fetch: fetch decompresses, joins repeated headers and refuses sloppy ones. A
// backend's answer is reported as it came, so the lenient parser reads it, on a connection that
// serves this call only and so has no next response to confuse.
function send({ url, method, headers, content }, timeoutMs) {
  const signal = timeoutMs > 0 ? AbortSignal.timeout(Math.min(timeoutMs, MAX_TIMER_MS)) : undefined;
  const options = {
    method,
    headers,
    signal,
    agent: false,
    insecureHTTPParser: true,
    maxHeaderSize: MAX_HEADER_BYTES,
  };
  const { request } = url.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    // Once a response is there, only its own errors count: bytes behind a 204 are none of them.
    request(url, options, (response) => resolve(readResponse(response)))
      .on('error', reject)
      .on('upgrade', (_, socket) => socket.destroy(new Error('101 was not asked for')).on('error', reject))
      .end(content);
  }).catch((error) => {
    if (signal?.aborted) {
      const advice = 'The operation may already have been applied; re-read before retrying.';
      throw new Refusal(
        'invoke_timeout',
        `The backend did not answer within ${timeoutMs} ms and the call was abandoned. ${advice}`,
      );
    }
    console.error(`calling the backend: ${error.message}`); // the log is told, the agent is not (GUARD-10)
    throw new Refusal('internal_error', 'The call to the backend failed before a complete answer arrived.');
  });
}

async function readResponse(response) {
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  const headers = [];
  for (let i = 0; i < response.rawHeaders.length; i += 2) {
    headers.push([response.rawHeaders[i], headerText(response.rawHeaders[i + 1])]);
  }
  return { status: response.statusCode, headers, body: Buffer.concat(chunks) };
}

// Node reads header bytes as Latin-1; backends write UTF-8 into them.
function headerText(value) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}
