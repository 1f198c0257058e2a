import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { invoke } from '../orders.js';

// A backend that answers each connection with the given bytes and says what it was sent. With
// `stays`, it leaves the connection open.
async function backend(t, reply, { stays = false } = {}) {
  const requests = [];
  const closed = [];
  const server = net.createServer((socket) => {
    closed.push(once(socket, 'close'));
    socket.on('error', () => {}); // the client hanging up is part of a test
    socket.once('data', (data) => {
      requests.push(data.toString('latin1'));
      socket.write(reply);
      if (!stays) socket.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const backendUrl = `http://127.0.0.1:${server.address().port}`;
  const call = (name, args, timeoutMs = 30_000) => invoke({ name, arguments: args }, { backendUrl, timeoutMs });
  return { call, requests, closed };
}

const response = (head, body = '') =>
  Buffer.concat([Buffer.from(`HTTP/1.1 ${head}\r\n\r\n`, 'latin1'), Buffer.from(body)]);
const NOT_FOUND = response('404 Not Found\r\nContent-Type: text/plain', 'No order 7.');

test('get_order: path, query, header', async (t) => {
  const { call, requests } = await backend(t, NOT_FOUND);
  const args = { id: 7, expand: 'a b&c', 'include[]': ['x', 'y'], 'X-Trace-Tag': 'é\t1' };
  assert.deepEqual(await call('get_order', args), {
    text: '{"error":"not_found","message":"No order 7.","status":404,"retryable":false}',
    isError: true,
  });
  assert.match(requests[0], /^GET \/orders\/7\?expand=a\+b%26c&include%5B%5D=x&include%5B%5D=y HTTP/);
  assert.match(requests[0], /\r\nX-Trace-Tag: \xc3\xa9\t1\r\n/);
});

test('create_order: a JSON body', async (t) => {
  const reply = response('201 Created\r\nLocation: /orders/8', '{"id":9007199254740993}');
  const { call, requests } = await backend(t, reply);
  const answer = await call('create_order', '{"item":"ü","quantity":2.0,"note":""}');
  assert.deepEqual(answer, { text: '{"status":201,"body":{"id":9007199254740993}}' });
  assert.match(requests[0], /^POST \/orders HTTP.*\r\nContent-Length: 36\r\n.*\{"item":"\xc3\xbc","quantity":2,"note":""\}$/s);
});

test('a deadline of weeks, and none', async (t) => {
  const { call } = await backend(t, NOT_FOUND);
  for (const timeoutMs of [2 ** 40, 0]) {
    assert.equal(JSON.parse((await call('get_order', { id: 7 }, timeoutMs)).text).error, 'not_found');
  }
});

test('what the operation publishes names the fields', async (t) => {
  const { call } = await backend(t, response('422 X', '{"statusCode":422,"message":["QUANTITY is low"]}'));
  const { text } = await call('create_order', {});
  assert.deepEqual(JSON.parse(text).fields, [{ name: 'quantity', message: 'QUANTITY is low' }]);
});

const REFUSALS = [
  ['delete_everything', {}, 'unknown_tool', "No operation named 'delete_everything'. Use search_tools to find the exact name."],
  ['constructor', {}, 'unknown_tool'],
  ['create_order', { item: 'x', bogus: 1 }, 'unknown_argument', 'Unknown argument(s): bogus. Allowed: item, quantity, note.'],
  ['get_order', null, 'missing_path_parameter'],
  ['get_order', {}, 'missing_path_parameter'],
  ['get_order', { id: '7' }, 'invalid_path_type', "Argument 'id' must be of type integer."],
  ['get_order', { id: 2 ** 53 }, 'invalid_path_type'],
  ['get_order', [7], 'invalid_type'],
  ['get_order', '[7]', 'invalid_type'],
  ['get_order', 'id=7', 'invalid_type'],
  ['get_order', { id: 7, 'include[]': 'x' }, 'invalid_type'],
  ['create_order', { item: 5 }, 'invalid_type'],
  ['get_order', { id: 7, expand: null }, 'null_not_allowed'],
  ['get_order', { id: 7, 'X-Trace-Tag': null }, 'null_not_allowed'],
  ['get_order', { id: 7, 'X-Trace-Tag': 'a\r\nb: c' }, 'header_injection'],
];

for (const [name, args, error, message] of REFUSALS) {
  test(`refused before dispatch: ${name} ${JSON.stringify(args)}`, async (t) => {
    const { call, requests } = await backend(t, NOT_FOUND);
    const answer = await call(name, args);
    const envelope = JSON.parse(answer.text);
    assert.equal(answer.isError, true);
    assert.equal(envelope.error, error);
    if (message) assert.equal(envelope.message, message);
    assert.deepEqual(requests, []);
  });
}

// What arrives on the wire, and what the agent gets of it.
const WIRE = {
  'interim responses are skipped': [
    Buffer.concat([response('103 Early Hints\r\nLink: x'), response('150 Odd'), response('204 No Content')]),
    { status: 204 },
  ],
  'a redirect is reported, not followed': [
    response('302 Found\r\nLocation: /orders/8\r\nLocation: /orders/9'),
    { status: 302, location: '/orders/8' },
  ],
  'a header in UTF-8, one in Latin-1, one with a control character': [
    response('500 X\r\nX-Request-Id: \xc3\xa9'),
    { status: 500, reference: 'é' },
    response('500 X\r\nX-Request-Id: \xe9'),
    { status: 500, reference: 'é' },
    response('500 X\r\nX-Request-Id: a\x01b'),
    { status: 500, reference: undefined },
  ],
  'a header far over the usual limit': [
    response(`404 X\r\nX-Long: ${'x'.repeat(100_000)}`, 'No.'),
    { status: 404, message: 'No.' },
  ],
  'a body that is compressed, though nobody asked, stays as it is': [
    response('200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip', gzipSync('hello')),
    { status: 200, body: gzipSync('hello').toString() },
  ],
  'bytes behind a 204': [response('204 No Content\r\nContent-Length: 5', 'hello'), { status: 204 }],
  'broken off, garbage, nothing, and a protocol switch': [
    response('200 OK\r\nContent-Length: 9', 'hello'),
    { error: 'internal_error', status: undefined },
    response('200 OK\r\nTransfer-Encoding: chunked', 'zz\r\nhello'),
    { error: 'internal_error', status: undefined },
    Buffer.from('hello\r\n\r\n'),
    { error: 'internal_error', status: undefined },
    Buffer.alloc(0),
    { error: 'internal_error', status: undefined },
    response('101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x'),
    { error: 'internal_error', status: undefined },
  ],
};

for (const [name, exchanges] of Object.entries(WIRE)) {
  test(`on the wire: ${name}`, async (t) => {
    for (let i = 0; i < exchanges.length; i += 2) {
      const { call } = await backend(t, exchanges[i]);
      const envelope = JSON.parse((await call('get_order', { id: 7 })).text);
      const expected = exchanges[i + 1];
      assert.deepEqual(Object.fromEntries(Object.keys(expected).map((key) => [key, envelope[key]])), expected);
    }
  });
}

test('a backend that is not there is reported without its address', async (t) => {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  const call = { name: 'get_order', arguments: { id: 7 } };
  assert.deepEqual(await invoke(call, { backendUrl: `http://127.0.0.1:${port}`, timeoutMs: 0 }), {
    text: '{"error":"internal_error","message":"The call to the backend failed before a complete answer arrived.","retryable":false}',
    isError: true,
  });
});

for (const [name, sent] of [
  ['before the head', ''],
  ['in the body', response('200 OK\r\nContent-Length: 9', 'hel')],
]) {
  test(`the deadline ends a call that stalls ${name}, and its connection`, { timeout: 60_000 }, async (t) => {
    const { call, closed } = await backend(t, sent, { stays: true });
    assert.deepEqual(JSON.parse((await call('get_order', { id: 7 }, 50)).text), {
      error: 'invoke_timeout',
      message:
        'The backend did not answer within 50 ms and the call was abandoned. The operation may already have been applied; re-read before retrying.',
      retryable: true,
    });
    await closed[0];
  });
}
