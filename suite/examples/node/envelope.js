// The mapper: a backend's HTTP response becomes the envelope an agent reads.
//
// Comments name the rule a line is there for; `touchstone explain ID` prints it.

import { leaks, locationLeaks, normalise } from './leak.js';

const WITHHELD_FIELD = 'The value was rejected; details were withheld.';
const MESSAGE_KEYS = ['message', 'detail', 'error_description', 'error', 'title', 'reason'];
const REFERENCE_HEADERS = ['x-correlation-id', 'x-request-id', 'request-id', 'x-trace-id'];
const RETRYABLE = new Set([408, 429, 502, 503, 504]);
const TRACE_ID = /^[A-Za-z0-9:_.-]{1,100}$/;
const MAX_RETRY_AFTER = 2 ** 31 - 1;

const CODES = new Map([
  [401, 'unauthenticated'],
  [403, 'forbidden'],
  [404, 'not_found'],
  [410, 'not_found'],
  [409, 'conflict'],
  [412, 'conflict'],
  [428, 'conflict'],
  [429, 'rate_limited'],
  [408, 'backend_unavailable'],
  [502, 'backend_unavailable'],
  [503, 'backend_unavailable'],
  [504, 'backend_unavailable'],
]);

const STANDARD_MESSAGES = {
  validation_failed: () =>
    'The backend rejected one or more arguments. Fix the listed fields and call the operation again.',
  bad_request: ({ status }) =>
    `The backend rejected the request (${status}) without usable details. ` +
    'Check the arguments against the input schema.',
  unauthenticated: () =>
    "The backend did not accept the caller's identity (401). The MCP session's credentials " +
    'were forwarded unchanged; retrying with the same session will not help.',
  forbidden: () => 'The caller is authenticated but not permitted to perform this operation (403).',
  not_found: () =>
    'No resource matched these arguments (404). The operation exists; check identifier arguments.',
  conflict: ({ status }) =>
    `The request conflicts with the current state of the resource (${status}). ` +
    'Re-read the resource before retrying.',
  rate_limited: ({ retryAfterSeconds: seconds }) =>
    'The backend is rate-limiting this caller (429).' +
    (seconds === undefined ? '' : ` Retry after ${seconds} seconds.`),
  backend_error: ({ status, reference }) =>
    `The backend failed while handling the call (${status}). Details were withheld.` +
    (reference === undefined ? '' : ` Reference: ${reference}.`),
  backend_unavailable: ({ status }) =>
    `The backend is temporarily unavailable (${status}). Retry later.`,
};

/**
 * Maps a response to an answer: `{text}`, the envelope as JSON, and `isError: true` on an error.
 *
 * @param response `{status, headers, body}`: headers are [name, value] pairs as received, body is
 *   a string or bytes, or absent.
 * @param operation what the operation publishes: `{known, aliases, hidden}` (the FIELD rules).
 * @param recognisers the host's own: functions from a response to `{message, fields}`, or to
 *   nothing when the response is not theirs. The first that takes a response decides.
 */
export function mapResponse(response, operation = {}, recognisers = []) {
  const read = readBody(response);
  if (response.status < 400) return { text: success(response, read) };
  return errorAnswer(backendError(response, read, operation, recognisers));
}

/** An answer that refuses the call without a backend's answer to report. */
export function sdkError(error, message) {
  return errorAnswer({ error, message, retryable: error === 'invoke_timeout' });
}

function errorAnswer(envelope) {
  return { text: JSON.stringify(envelope), isError: true };
}

// Written member by member: the body goes in as the backend wrote it, because JSON.parse followed
// by JSON.stringify rounds large numbers and reorders keys that look like integers (SUCCESS-08).
function success({ status, headers }, { text, contentType, mediaType, isHtml }) {
  const members = [`"status":${status}`];
  const mayBeJson = ['', 'application/json', 'text/json'].includes(mediaType) || mediaType.endsWith('+json');
  const json = mayBeJson ? parse(text) : undefined;
  if (json !== undefined) {
    if (json !== null) members.push(`"body":${text.trim()}`);
  } else if (!isHtml && text.trim() !== '') {
    members.push(`"body":${JSON.stringify(text)}`);
    if (contentType) members.push(`"contentType":${JSON.stringify(contentType)}`);
  }
  const location = header(headers, 'location');
  if (status >= 300 && location && !locationLeaks(location)) {
    members.push(`"location":${JSON.stringify(location)}`);
  }
  return `{${members.join(',')}}`;
}

function backendError(response, read, operation, recognisers) {
  const { status, headers } = response;
  // FORWARD-06: unlike in a success, of the text types only text/json may be JSON here.
  const mayBeJson = !read.mediaType.startsWith('text/') || read.mediaType === 'text/json';
  const body = { ...read, json: mayBeJson ? parse(read.text) : undefined };

  const found = first(recognisers, response) ?? (isOpaque(status) ? {} : recognise(status, body));
  const fields = (found.fields ?? [])
    .map((entry) => ({ ...entry, message: normalise(entry.message) }))
    .filter((entry) => entry.message !== '') // SHAPE-07
    .map((entry) => fieldEntry(entry, operation));
  const facts = {
    status,
    retryAfterSeconds: status === 429 ? retryAfter(headers) : undefined,
    reference: status >= 500 ? reference(headers, body.json) : undefined,
  };

  const error = codeOf(status, fields.length > 0);
  const message = normalise(found.message ?? '');
  return {
    error,
    message: message === '' || leaks(message) ? STANDARD_MESSAGES[error](facts) : message,
    status,
    retryable: RETRYABLE.has(status),
    fields: fields.length > 0 ? fields : undefined,
    retryAfterSeconds: facts.retryAfterSeconds,
    reference: facts.reference,
  };
}

function codeOf(status, hasFields) {
  if (hasFields && isValidation(status)) return 'validation_failed';
  return CODES.get(status) ?? (status >= 500 ? 'backend_error' : 'bad_request');
}

const isValidation = (status) => status === 400 || status === 422;
const isOpaque = (status) => status === 401 || status >= 500; // FORWARD-08, FORWARD-09

// ---- Recognisers: each gives {message} or {fields}, or nothing when the body is not its own.

function recognise(status, body) {
  if (body.isHtml) return {}; // FORWARD-10
  if (body.json === undefined) return { message: body.text }; // FORWARD-05
  if (typeof body.json === 'string') return { message: body.json };
  if (!isObject(body.json)) return {};
  return first([fieldDictionary, problemDetails, nestBody, messageEnvelope], body, status) ?? {};
}

// FORWARD-01
function fieldDictionary({ json, text }) {
  if (!isObject(json.errors)) return undefined;
  const fields = entriesInOrder(text, 'errors').flatMap(([name, messages]) =>
    [messages].flat().filter(isText).map((message) => ({ name, message })),
  );
  return fields.length > 0 ? { fields } : undefined;
}

// FORWARD-02
function problemDetails({ json, mediaType }) {
  if (mediaType !== 'application/problem+json' && typeof json.status !== 'number') return undefined;
  const message = [json.detail, json.title].find(isText);
  return message && { message };
}

// FORWARD-03
function nestBody({ json: { statusCode, message } }, status) {
  if (typeof statusCode !== 'number') return undefined;
  if (isText(message)) return { message };
  if (!Array.isArray(message) || message.some((entry) => typeof entry !== 'string')) return undefined;
  const messages = message.filter(isText);
  if (messages.length === 0) return undefined;
  if (!isValidation(status)) return { message: messages.join('; ') };
  return { fields: messages.map((entry) => ({ message: entry, guessName: true })) };
}

// FORWARD-04
function messageEnvelope({ json }) {
  const members = Object.entries(json).filter(([, value]) => isText(value));
  const member = first(MESSAGE_KEYS.map((key) => () => members.find(([name]) => same(name, key))));
  return member && { message: member[1] };
}

// ---- Fields

function fieldEntry({ name, message, guessName }, operation) {
  const known = guessName ? guessFieldName(message, operation) : fieldName(name ?? '', operation);
  const entry = { message: leaks(message) ? WITHHELD_FIELD : message };
  return known && !leaks(known) ? { name: known.toWellFormed(), ...entry } : entry; // FIELD-08
}

// The name the agent knows a reported field by; undefined where it has none.
function fieldName(reported, operation) {
  const name = reported.replace(/^\$\./, '');
  if (isHidden(name, operation)) return undefined;
  return publishedName(name, operation) ?? (isText(name) ? name : undefined);
}

// FIELD-05: a message without a name often begins with it.
function guessFieldName(message, operation) {
  const word = /^[\p{L}\p{N}_$]+/u.exec(message)?.[0];
  if (!word || !operation.known?.length || isHidden(word, operation)) return undefined;
  return publishedName(word, operation);
}

function publishedName(name, { known = [], aliases = {} }) {
  return (
    known.find((published) => same(published, name)) ??
    Object.entries(aliases).find(([wire]) => same(wire, name))?.[1]
  );
}

const isHidden = (name, { hidden = [] }) => hidden.some((wire) => same(wire, name));

// ---- Headers

// The first non-blank value of a header, without the blanks around it (RFC 9110, section 5.5:
// spaces and tabs; a line break is no blank but a control character). The lookbehind starts the
// expression once in each run of blanks and not at every one of them.
function header(headers, name) {
  const values = headers.filter(([given]) => given.toLowerCase() === name).map(([, value]) => value);
  return values.find(isText)?.toWellFormed().replace(/^[ \t]+|(?<![ \t])[ \t]+$/g, '');
}

// HEADER-02: a date, a sign, a fraction and a number no wait has are no use to an agent.
function retryAfter(headers) {
  const value = header(headers, 'retry-after') ?? '';
  const seconds = /^\d+$/.test(value) ? Number(value) : Infinity;
  return seconds <= MAX_RETRY_AFTER ? seconds : undefined;
}

// HEADER-04 to HEADER-06. A header decides even where it is then kept back.
function reference(headers, json) {
  const given = first(REFERENCE_HEADERS.map((name) => () => header(headers, name)));
  const traceId = isObject(json) && typeof json.traceId === 'string' ? json.traceId : '';
  const value = given ?? (TRACE_ID.test(traceId) ? traceId : undefined);
  return value === undefined || /\p{Cc}/u.test(value) || leaks(value) ? undefined : value;
}

// ---- Reading a body

function readBody({ headers, body = '' }) {
  // Bytes that are not UTF-8 become U+FFFD, a byte-order mark is dropped (SHAPE-08).
  const text = new TextDecoder().decode(Buffer.from(body));
  const contentType = header(headers, 'content-type') ?? '';
  const mediaType = contentType.split(';', 1)[0].trim().toLowerCase();
  return { text, contentType, mediaType, isHtml: mediaType === 'text/html' || startsAsHtml(text) };
}

function startsAsHtml(text) {
  if (/^<(?:!doctype|html)/i.test(text.trimStart())) return true;
  // FORWARD-14: comments and processing instructions may come first. Past those, only HTML's own
  // doctype counts: an XML document has the others. A sticky loop, so that each is read once.
  const preamble = /\s*(?:<!--[^]*?-->|<\?[^]*?\?>)/y;
  let end = 0;
  while (preamble.test(text)) end = preamble.lastIndex;
  return /^<(?:!doctype\s+html|html)/i.test(text.slice(end).trimStart());
}

// The value of a JSON text, undefined when it is not JSON.
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// The members of an object in a JSON text that is known to parse, in document order. A JavaScript
// object puts keys like "10" first, so every key is read with a letter in front of it.
function entriesInOrder(text, member) {
  const marked = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g, (token, colon) =>
    colon ? `"_${token.slice(1)}` : token,
  );
  return Object.entries(JSON.parse(marked)[`_${member}`]).map(([key, value]) => [key.slice(1), value]);
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === 'string' && value.trim() !== '';
const same = (a, b) => a.toLowerCase() === b.toLowerCase();

// What the first of the functions that gives anything gives.
function first(functions, ...args) {
  for (const f of functions) {
    const result = f(...args);
    if (result !== undefined) return result;
  }
  return undefined;
}
