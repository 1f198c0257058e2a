// Refusals: what the layer answers without a usable answer of the backend, built from the facts.
//
// Comments name the rule a line is there for; `touchstone explain ID` prints it.

import { leaks, normalise } from './leak.js';

const INTERNAL = 'The call failed inside the tool layer. Details were withheld.';
const UNEXPLAINED = 'The call was refused before it was sent.';

// The messages that are pinned (SDK-22). The other codes bring their own text.
const MESSAGES = {
  response_too_large: ({ bytes, limit, payload, narrowing }) =>
    `The response is ${bytes} bytes; the limit is ${limit} bytes. It is refused, not truncated: ` +
    `no part of the body was returned. ${shapeText(shapeOf(payload))} ${advice(narrowing)}`,
  invoke_timeout: ({ limitMs }) =>
    `The backend did not answer within ${limitMs} ms and the call was abandoned. ` +
    'The operation may already have been applied; re-read before retrying.',
  tool_changed: ({ tool }) =>
    `The tool '${tool}' changed after it was loaded, so the call was refused before reaching the ` +
    'backend. Load it again with load_tool and retry with the new version.',
  search_ranker_unavailable: () =>
    'Search is unavailable: the ranker did not answer this query. Call search_tools again later.',
  // Not found and forbidden read the same, or one could find out which refs exist (SDK-14).
  file_unresolved: ({ field, reason }) =>
    reason === 'unavailable'
      ? `File argument '${field}' could not be resolved right now. Retry the call.`
      : `File argument '${field}' names a ref that could not be resolved. ` +
        'Retrying with the same ref will not help.',
  file_too_large: ({ field, limit, message }) =>
    limit === undefined
      ? message
      : `File argument '${field}' is over the limit of ${limit} bytes and was not sent.`,
};

/** Builds the answer `{text, isError}` for a refusal, from the facts of the `refuse` method. */
export function refuse(facts) {
  const envelope = {
    error: facts.error,
    message: messageOf(facts),
    retryable: isRetryable(facts),
  };
  if (facts.error === 'response_too_large') {
    if (facts.narrowing?.length > 0) envelope.fields = facts.narrowing; // GUARD-03
    // Measures of the body, and nothing that is in it (GUARD-02, GUARD-04).
    envelope.payload = { bytes: facts.bytes, limit: facts.limit, shape: shapeOf(facts.payload) };
  }
  return { text: JSON.stringify(envelope), isError: true };
}

function isRetryable({ error, reason }) {
  if (error === 'file_unresolved') return reason === 'unavailable'; // SDK-14
  return error === 'invoke_timeout' || error === 'search_ranker_unavailable'; // SDK-21
}

function messageOf(facts) {
  if (facts.error === 'internal_error') {
    const text = normalise(facts.message ?? ''); // SDK-19: the layer's own text is filtered too
    return text === '' || leaks(text) ? INTERNAL : text;
  }
  const text = MESSAGES[facts.error]?.(facts) ?? facts.message ?? '';
  return text.trim() === '' ? UNEXPLAINED : text; // SHAPE-07
}

// Only what is at the top is counted; a string's length is its UTF-16 code units already (GUARD-02).
function shapeOf(payload) {
  if (Array.isArray(payload)) return { kind: 'array', count: payload.length };
  if (typeof payload === 'string') return { kind: 'text', count: payload.length };
  if (typeof payload === 'object' && payload !== null) {
    return { kind: 'object', count: Object.keys(payload).length };
  }
  return { kind: 'text' };
}

function shapeText({ kind, count }) {
  if (count === undefined) return 'The body is not a JSON array or object.';
  if (kind === 'array') return `The body is an array of ${count} items.`;
  if (kind === 'object') return `The body is an object with ${count} properties.`;
  return `The body is a text value of ${count} characters.`;
}

function advice(narrowing = []) {
  if (narrowing.length === 0) return 'No argument of this call narrows the response.';
  return `Narrow it and call again: ${narrowing.map(({ name }) => name).join(', ')}.`;
}
