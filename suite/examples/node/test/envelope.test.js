import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapResponse, sdkError } from '../envelope.js';

const BAD_REQUEST =
  'The backend rejected the request (400) without usable details. Check the arguments against the input schema.';
const FIX_FIELDS =
  'The backend rejected one or more arguments. Fix the listed fields and call the operation again.';
const WITHHELD_FIELD = 'The value was rejected; details were withheld.';
const FRAME = 'at Shop.Cart.Add(Item item)';

// Maps a response given as [status, content type, body, other headers].
function answer([status, contentType, body, headers = {}], ...rest) {
  const pairs = Object.entries({ 'Content-Type': contentType, ...headers }).filter(([, value]) => value !== undefined);
  return mapResponse({ status, headers: pairs, body }, ...rest);
}

const map = (...args) => JSON.parse(answer(...args).text);
const json = (value) => JSON.stringify(value);
const each = (keys, value) => Object.fromEntries(keys.map((key) => [key, value]));

// A name, a response, and members of the envelope that must have these values (undefined: absent).
function table(cases) {
  for (const [name, response, expected, operation, recognisers] of cases) {
    test(name, () => {
      const envelope = map(response, operation, recognisers);
      const actual = Object.fromEntries(Object.keys(expected).map((key) => [key, envelope[key]]));
      assert.deepEqual(actual, expected);
    });
  }
}

test('a whole backend error, and its carrier flag', () => {
  assert.deepEqual(answer([404, 'application/json', '{"message":"No such  order."}']), {
    text: '{"error":"not_found","message":"No such order.","status":404,"retryable":false}',
    isError: true,
  });
});

test('a whole success has no carrier flag', () => {
  assert.deepEqual(answer([200, 'application/json', ' {"id": 7} ']), { text: '{"status":200,"body":{"id": 7}}' });
});

test('sdkError: only the timeout is worth a retry', () => {
  assert.deepEqual(sdkError('unknown_tool', 'none'), {
    text: '{"error":"unknown_tool","message":"none","retryable":false}',
    isError: true,
  });
  assert.equal(JSON.parse(sdkError('invoke_timeout', 'late').text).retryable, true);
});

const STATUSES = {
  400: ['bad_request', BAD_REQUEST],
  401: [
    'unauthenticated',
    "The backend did not accept the caller's identity (401). The MCP session's credentials were forwarded unchanged; retrying with the same session will not help.",
  ],
  403: ['forbidden', 'The caller is authenticated but not permitted to perform this operation (403).'],
  404: ['not_found', 'No resource matched these arguments (404). The operation exists; check identifier arguments.'],
  408: ['backend_unavailable', 'The backend is temporarily unavailable (408). Retry later.', true],
  409: [
    'conflict',
    'The request conflicts with the current state of the resource (409). Re-read the resource before retrying.',
  ],
  410: ['not_found', 'No resource matched these arguments (404). The operation exists; check identifier arguments.'],
  412: [
    'conflict',
    'The request conflicts with the current state of the resource (412). Re-read the resource before retrying.',
  ],
  418: [
    'bad_request',
    'The backend rejected the request (418) without usable details. Check the arguments against the input schema.',
  ],
  428: [
    'conflict',
    'The request conflicts with the current state of the resource (428). Re-read the resource before retrying.',
  ],
  429: ['rate_limited', 'The backend is rate-limiting this caller (429).', true],
  500: ['backend_error', 'The backend failed while handling the call (500). Details were withheld.'],
  502: ['backend_unavailable', 'The backend is temporarily unavailable (502). Retry later.', true],
  503: ['backend_unavailable', 'The backend is temporarily unavailable (503). Retry later.', true],
  504: ['backend_unavailable', 'The backend is temporarily unavailable (504). Retry later.', true],
  599: ['backend_error', 'The backend failed while handling the call (599). Details were withheld.'],
};

for (const [status, [error, message, retryable = false]] of Object.entries(STATUSES)) {
  test(`CODE, RETRY, MESSAGE: ${status} without a body`, () => {
    assert.deepEqual(map([Number(status)]), { error, message, status: Number(status), retryable });
  });
}

const DICTIONARY = json({ errors: { item: ['taken', '', 5, ' odd '], note: 'too long', gone: {} } });
const ENTRIES = [
  { name: 'item', message: 'taken' },
  { name: 'item', message: 'odd' },
  { name: 'note', message: 'too long' },
];

table([
  // ---- SUCCESS
  [
    'SUCCESS-02 parameters and case of the type',
    [200, 'Application/Problem+JSON; charset=utf-8', '[1]'],
    { body: [1], contentType: undefined },
  ],
  ['SUCCESS-02 a blank before the parameters', [200, 'text/json ;v=1', '[1]'], { body: [1] }],
  ['SUCCESS-03 not quite JSON', [200, 'application/json-seq', '1'], { body: '1' }],
  ['SUCCESS-02 no content type', [200, undefined, '"x"'], { body: 'x', contentType: undefined }],
  ['SUCCESS-03 text stays text', [200, 'text/plain; v=1', '{"a":1}'], { body: '{"a":1}', contentType: 'text/plain; v=1' }],
  ['SUCCESS-04 broken JSON', [200, 'application/json', '{a}'], { body: '{a}', contentType: 'application/json' }],
  ['SUCCESS-04 broken JSON without a type', [200, undefined, '{a}'], { body: '{a}', contentType: undefined }],
  ['SUCCESS-05 blank', [200, 'text/plain', ' \n'], { body: undefined, contentType: undefined }],
  ['SUCCESS-05 null', [200, 'application/json', 'null'], { body: undefined, contentType: undefined }],
  ['SUCCESS-06 by type', [200, 'text/html', 'x'], { body: undefined, contentType: undefined }],
  ['SUCCESS-06 by content', [200, 'text/plain', '\n<!DocType x>'], { body: undefined, contentType: undefined }],
  ['SUCCESS-07 redirect', [302, undefined, '', { LOCATION: ' /app/orders/5 ' }], { status: 302, location: '/app/orders/5' }],
  ['SUCCESS-07 300', [300, undefined, '', { Location: '/orders/5' }], { location: '/orders/5' }],
  ['SUCCESS-07 not for 201', [201, undefined, '', { Location: '/orders/5' }], { location: undefined }],
  ['SUCCESS-07 blank', [302, undefined, '', { Location: ' ' }], { location: undefined }],
  ['HEADER-07', [302, undefined, '', { Location: 'https://ann:pw@shop.example/' }], { location: undefined }],
  ['SHAPE-08 a lone surrogate in a header', [200, 'text/\ud800', 'x'], { contentType: 'text/\ufffd' }],
  ['SHAPE-08 bytes that are not UTF-8', [200, 'text/plain', Buffer.from([0x61, 0xff])], { body: 'a\ufffd' }],

  // ---- FORWARD
  ['FORWARD-01', [400, 'application/json', DICTIONARY], { error: 'validation_failed', message: FIX_FIELDS, fields: ENTRIES }],
  [
    'FORWARD-01, CODE-10 on another 4xx',
    [403, 'application/json', DICTIONARY],
    { error: 'forbidden', fields: ENTRIES, message: STATUSES[403][1] },
  ],
  [
    'FORWARD-01 before FORWARD-02',
    [422, 'application/problem+json', json({ title: 'Bad', errors: { a: 'b' } })],
    { message: FIX_FIELDS },
  ],
  [
    'FORWARD-01 nothing left',
    [400, 'application/json', json({ errors: { a: [' '] }, message: 'No.' })],
    { error: 'bad_request', message: 'No.', fields: undefined },
  ],
  [
    'FORWARD-01 not an array',
    [400, 'application/json', json({ errors: ['a'], title: 'No.' })],
    { message: 'No.', fields: undefined },
  ],
  ['FORWARD-02 detail', [404, 'application/problem+json', json({ title: 'T', detail: 'D' })], { message: 'D' }],
  ['FORWARD-02 title', [404, 'application/problem+json', json({ title: 'T', detail: ' ' })], { message: 'T' }],
  [
    'FORWARD-02 by shape',
    [404, 'application/json', json({ title: 'T', detail: 'D', status: 404, message: 'M' })],
    { message: 'D' },
  ],
  ['FORWARD-02 title by shape', [404, 'application/json', json({ title: 'T', status: 1, message: 'M' })], { message: 'T' }],
  [
    'FORWARD-02 status is text',
    [404, 'application/json', json({ title: 'T', detail: 'D', status: '404', message: 'M' })],
    { message: 'M' },
  ],
  ['FORWARD-02 neither', [404, 'application/problem+json', json({ error: 'E' })], { message: 'E' }],
  [
    'FORWARD-03 text',
    [404, 'application/json', json({ error: 'E', detail: 'D', message: 'M', statusCode: 404 })],
    { message: 'M' },
  ],
  [
    'FORWARD-03 list on 400',
    [400, 'application/json', json({ message: ['b', ' ', 'a'], statusCode: 400 })],
    { error: 'validation_failed', fields: [{ message: 'b' }, { message: 'a' }] },
  ],
  [
    'FORWARD-03 list on 409',
    [409, 'application/json', json({ message: ['b', 'a'], statusCode: 409 })],
    { error: 'conflict', message: 'b; a', fields: undefined },
  ],
  [
    'FORWARD-03 mixed list',
    [400, 'application/json', json({ message: ['b', 1], error: 'E', statusCode: 400 })],
    { error: 'bad_request', message: 'E' },
  ],
  ['FORWARD-03 empty list', [400, 'application/json', json({ message: [], error: 'E', statusCode: 400 })], { message: 'E' }],
  [
    'FORWARD-03 without statusCode',
    [400, 'application/json', json({ message: ['b'], error: 'E' })],
    { message: 'E', fields: undefined },
  ],
  ...['message', 'detail', 'error_description', 'error', 'title', 'reason'].map((key, i, keys) => [
    `FORWARD-04 ${key}, without case, before those after it`,
    [400, 'application/json', json({ ...each(keys.slice(i + 1), 'no'), [key.toUpperCase()]: 'yes' })],
    { message: 'yes' },
  ]),
  [
    'FORWARD-04 blank and non-text values',
    [400, 'application/json', json({ message: ' ', detail: 5, reason: 'R' })],
    { message: 'R' },
  ],
  ['FORWARD-04 a string', [400, 'application/json', '"Say  when."'], { message: 'Say when.' }],
  ['FORWARD-04 an unknown envelope', [400, 'application/json', '{"hint":"x"}'], { message: BAD_REQUEST }],
  ['FORWARD-05', [400, undefined, 'No stock.'], { message: 'No stock.' }],
  ['FORWARD-05 broken JSON', [400, 'application/json', '{"message":'], { message: '{"message":' }],
  ['FORWARD-05 JSON that says nothing', [400, 'application/json', '[1]'], { message: BAD_REQUEST }],
  ['FORWARD-06 text is not parsed', [400, 'text/plain', '{"message":"x"}'], { message: '{"message":"x"}' }],
  ['FORWARD-06 text/json is', [400, 'text/json', '{"message":"x"}'], { message: 'x' }],
  ['FORWARD-06 JSON served as HTML', [400, 'text/html', '{"message":"x"}'], { message: BAD_REQUEST }],
  [
    'FORWARD-08',
    [401, 'application/json', json({ errors: { a: 'b' }, message: 'M' })],
    { message: STATUSES[401][1], fields: undefined },
  ],
  [
    'FORWARD-09',
    [500, 'application/json', json({ errors: { a: 'b' }, message: 'M' })],
    { message: STATUSES[500][1], fields: undefined },
  ],
  ['FORWARD-10', [404, 'application/json', ' <HTML><p>x'], { message: STATUSES[404][1] }],
  [
    'FORWARD-13 a leak decides',
    [404, 'application/problem+json', json({ title: 'T', detail: FRAME })],
    { message: STATUSES[404][1] },
  ],
  [
    'FORWARD-13 429 forwards',
    [429, 'text/plain', 'Slow down.', { 'Retry-After': '3' }],
    { message: 'Slow down.', retryAfterSeconds: 3 },
  ],
  [
    'FORWARD-14 comments and prolog',
    [404, undefined, '\ufeff<?xml version="1.0"?><!-- a --> <!-- b --><html>'],
    { message: STATUSES[404][1] },
  ],
  ['FORWARD-14 in capitals', [404, undefined, '<!-- a --><HTML>'], { message: STATUSES[404][1] }],
  ['FORWARD-14 HTML further in', [404, undefined, '<!-- a --><a><html>'], { message: '<!-- a --><a><html>' }],
  ['FORWARD-14 a comment before HTML only', [404, undefined, '<!-- a --> <b>x'], { message: '<!-- a --> <b>x' }],
  [
    'FORWARD-14 another doctype is XML',
    [200, 'text/xml', '<?xml version="1.0"?><!DOCTYPE order><order/>'],
    { contentType: 'text/xml' },
  ],
  ['SHAPE-07 a blank message', [404, 'application/json', json({ message: ' \u00a0 ' })], { message: STATUSES[404][1] }],
  ['LEAK-08 plain text', [404, 'text/plain', `x\n  ${FRAME}`], { message: STATUSES[404][1] }],
  ['LEAK-08 a string', [404, 'application/json', json(FRAME)], { message: STATUSES[404][1] }],

  // ---- HEADER
  [
    'HEADER-02',
    [429, undefined, '', { 'RETRY-AFTER': ' 030\t' }],
    { retryAfterSeconds: 30, message: 'The backend is rate-limiting this caller (429). Retry after 30 seconds.' },
  ],
  [
    'HEADER-02 zero',
    [429, undefined, '', { 'Retry-After': '0' }],
    { retryAfterSeconds: 0, message: 'The backend is rate-limiting this caller (429). Retry after 0 seconds.' },
  ],
  ['HEADER-02 the largest', [429, undefined, '', { 'Retry-After': '2147483647' }], { retryAfterSeconds: 2147483647 }],
  ...['+3', '-3', '3.0', '1e2', 'soon', 'Fri, 31 Dec 1999 23:59:59 GMT', '3\n', '2147483648', ''].map((value) => [
    `HEADER-02 ${json(value)}`,
    [429, undefined, '', { 'Retry-After': value }],
    { retryAfterSeconds: undefined, message: STATUSES[429][1] },
  ]),
  ...['X-Correlation-Id', 'X-Request-Id', 'Request-Id', 'X-Trace-Id'].map((name, i, names) => [
    `HEADER-04 ${name}, before those after it`,
    [500, undefined, '', { ...each(names.slice(0, i), ' '), ...each(names.slice(i + 1), 'no'), [name]: ' ref-1 ' }],
    { reference: 'ref-1', message: `${STATUSES[500][1]} Reference: ref-1.` },
  ]),
  ['HEADER-04 503', [503, undefined, '', { 'X-Request-Id': 'r' }], { reference: 'r', message: STATUSES[503][1] }],
  ['HEADER-04 not on 4xx', [404, undefined, '', { 'X-Request-Id': 'r' }], { reference: undefined }],
  ['HEADER-05', [500, 'application/problem+json', json({ traceId: '0a:B_.-' })], { reference: '0a:B_.-' }],
  ['HEADER-05 a header first', [500, undefined, json({ traceId: 't' }), { 'Request-Id': 'r' }], { reference: 'r' }],
  ...['', 't\n', 'a b', 'é', 'x'.repeat(101), 7].map((traceId) => [
    `HEADER-05 ${json(traceId).slice(0, 12)}`,
    [500, 'application/json', json({ traceId })],
    { reference: undefined, message: STATUSES[500][1] },
  ]),
  ['HEADER-05 100 characters', [500, undefined, json({ traceId: 'x'.repeat(100) })], { reference: 'x'.repeat(100) }],
  ['HEADER-05 not from text', [500, 'text/plain', json({ traceId: 't' })], { reference: undefined }],
  ...['Shop.StockException', 'a\u0007b', 'a\u0085b', 'a\n', 'x'.repeat(1001)].map((value) => [
    `HEADER-06 ${json(value).slice(0, 24)}`,
    [500, undefined, json({ traceId: 't' }), { 'X-Request-Id': value }],
    { reference: undefined, message: STATUSES[500][1] },
  ]),
]);

test('SUCCESS-08: JSON goes through unread', () => {
  const body = '{"10":12345678901234567890,"2":0.10,"a":1E400,"b":"\\u0041","2":1}';
  assert.equal(answer([200, undefined, `\ufeff\r\n${body}\n`]).text, `{"status":200,"body":${body}}`);
  const deep = '['.repeat(50_000) + ']'.repeat(50_000);
  assert.equal(answer([200, undefined, deep]).text, `{"status":200,"body":${deep}}`);
});

test('HEADER: of a repeated header the first value that is not blank counts', () => {
  const headers = [['X-Request-Id', ''], ['x-request-id', 'one'], ['X-REQUEST-ID', 'two']];
  assert.equal(JSON.parse(mapResponse({ status: 500, headers }).text).reference, 'one');
});

// ---- FIELD: the names that a dictionary's keys, or a list's messages, end up with.
const OPERATION = { known: ['orderId', 'item'], aliases: { q: 'keyword', ORDERID: 'no', tenantid: 'no' }, hidden: ['tenantId'] };

test('FIELD-01 to FIELD-04, FIELD-06, FIELD-08, FIELD-09: names of a dictionary', () => {
  const reported = ['10', '$.ITEM', 'OrderId', 'Q', '$.TenantID', 'a$.b[0]', '', ' ', '$.', '$', 'a.go:3', '\ud800', '2'];
  const errors = `{${reported.map((name) => `${json(name)} : "m"`).join()}}`;
  const { fields } = map([400, undefined, `{"errors" : ${errors}}`], OPERATION);
  assert.deepEqual(
    fields.map(({ name }) => name),
    ['10', 'item', 'orderId', 'keyword', undefined, 'a$.b[0]', undefined, undefined, undefined, '$', undefined, '\ufffd', '2'],
  );
});

test('FIELD-05: names guessed from messages', () => {
  const message = ['ITEM is taken', 'q: too short', 'orderId.x no', 'tenantId is bad', 'items are bad', '"item" no', 'other'];
  const body = json({ statusCode: 422, message });
  assert.deepEqual(
    map([422, undefined, body], OPERATION).fields.map(({ name }) => name),
    ['item', 'keyword', 'orderId', undefined, undefined, undefined, undefined],
  );
  const unpublished = map([422, undefined, body], { aliases: { q: 'keyword' } });
  assert.equal(unpublished.fields.some(({ name }) => name !== undefined), false);
});

test('FIELD-07: each message is filtered alone', () => {
  const { fields } = map([400, undefined, json({ errors: { a: ['ok', FRAME], b: 'fine' } })]);
  assert.deepEqual(fields, [
    { name: 'a', message: 'ok' },
    { name: 'a', message: WITHHELD_FIELD },
    { name: 'b', message: 'fine' },
  ]);
});

// ---- Recognisers of the host
const takes = (found) => [() => undefined, () => found];

table([
  ['host: message', [404, undefined, '{"message":"theirs"}'], { message: 'ours' }, {}, takes({ message: 'ours' })],
  ['host: comes before the 401 rule', [401, undefined, ''], { message: 'ours' }, {}, takes({ message: 'ours' })],
  ['host: a leak', [404, undefined, '{"message":"theirs"}'], { message: STATUSES[404][1] }, {}, takes({ message: FRAME })],
  [
    'host: fields',
    [400, undefined, ''],
    { error: 'validation_failed', message: FIX_FIELDS, fields: [{ name: 'item', message: 'm' }, { message: 'item x' }] },
    OPERATION,
    takes({ fields: [{ name: '$.Item', message: ' m ' }, { message: 'item x' }, { message: ' ' }] }),
  ],
  [
    'host: a leak in a field',
    [400, undefined, ''],
    { message: 'ours', fields: [{ message: WITHHELD_FIELD }] },
    {},
    takes({ message: 'ours', fields: [{ message: FRAME }] }),
  ],
  [
    'host: takes it and says nothing',
    [404, undefined, '{"message":"theirs"}'],
    { message: STATUSES[404][1] },
    {},
    takes({ message: '' }),
  ],
  ['host: not its own', [404, undefined, '{"message":"theirs"}'], { message: 'theirs' }, {}, [() => undefined]],
  ['host: no business of a success', [200, undefined, '1'], { body: 1, message: undefined }, {}, takes({ message: 'ours' })],
]);

test('LEAK-10: a hostile megabyte is answered in any carrier', { timeout: 60_000 }, () => {
  const started = performance.now();
  for (const unit of ['<!---->', '<? ?>', '<!--', ' ', '[', '{"a":', '"', '\\n', '1,']) {
    const text = unit.repeat(2 ** 20 / unit.length);
    for (const contentType of ['text/plain', 'application/json']) map([400, contentType, text]);
    map([400, undefined, json({ errors: { [text]: text }, statusCode: 400, message: [text] })], OPERATION);
    map([302, text, text, { Location: `${text}x` }]);
    map([503, text, text, { 'X-Request-Id': `x${text}x`, 'Retry-After': text }]);
  }
  assert.ok(performance.now() - started < 30_000);
});
