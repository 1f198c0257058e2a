import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refuse } from '../refuse.js';

const envelope = (facts) => JSON.parse(refuse(facts).text);

test('a code without a pinned message keeps the text', () => {
  assert.deepEqual(envelope({ error: 'unknown_argument', message: 'Unknown argument(s): hue. Allowed: id.' }), {
    error: 'unknown_argument',
    message: 'Unknown argument(s): hue. Allowed: id.',
    retryable: false,
  });
});

test('retryable follows the code, and the reason of a file', () => {
  assert.equal(envelope({ error: 'invoke_timeout', limitMs: 10 }).retryable, true);
  assert.equal(envelope({ error: 'search_ranker_unavailable' }).retryable, true);
  assert.equal(envelope({ error: 'file_unresolved', field: 'f', reason: 'unavailable' }).retryable, true);
  assert.equal(envelope({ error: 'file_unresolved', field: 'f', reason: 'not_found' }).retryable, false);
  assert.equal(envelope({ error: 'tool_changed', tool: 't' }).retryable, false);
});

test('forbidden reads as not found', () => {
  const of = (reason) => refuse({ error: 'file_unresolved', field: 'invoice', reason }).text;
  assert.equal(of('forbidden'), of('not_found'));
  assert.notEqual(of('forbidden'), of('unavailable'));
});

test('a refused body is measured and not quoted', () => {
  const { message, payload, fields } = envelope({
    error: 'response_too_large',
    bytes: 70,
    limit: 60,
    payload: 'ab📦secret',
    narrowing: [{ name: 'limit', message: 'Most rows.' }],
  });
  assert.deepEqual(payload, { bytes: 70, limit: 60, shape: { kind: 'text', count: 10 } });
  assert.deepEqual(fields, [{ name: 'limit', message: 'Most rows.' }]);
  assert.equal(
    message,
    'The response is 70 bytes; the limit is 60 bytes. It is refused, not truncated: no part of the body was ' +
      'returned. The body is a text value of 10 characters. Narrow it and call again: limit.',
  );
});

test('shapes', () => {
  const shape = (payload) => envelope({ error: 'response_too_large', bytes: 2, limit: 1, payload }).payload.shape;
  assert.deepEqual(shape([1, [2, 3]]), { kind: 'array', count: 2 });
  assert.deepEqual(shape({ a: 1 }), { kind: 'object', count: 1 });
  for (const scalar of [7, true, null]) assert.deepEqual(shape(scalar), { kind: 'text' });
});

test('the text of an internal error is filtered', () => {
  const of = (message) => envelope({ error: 'internal_error', message }).message;
  assert.equal(of('The  catalogue\nis empty.'), 'The catalogue is empty.');
  assert.equal(of('failed at Shop.Lane.Close(x)'), of(''));
  assert.notEqual(of('').trim(), '');
});
