import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ADAPTER = fileURLToPath(new URL('../adapter.js', import.meta.url));

function start(t, ...args) {
  const child = spawn(process.execPath, [ADAPTER, ...args], { stdio: ['pipe', 'pipe', 'ignore'] });
  const exit = once(child, 'exit');
  t.after(async () => {
    child.kill();
    await exit;
  });
  return { child, exit, lines: lines(child.stdout) };
}

async function* lines(stream) {
  let rest = '';
  for await (const chunk of stream.setEncoding('utf8')) {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop();
    yield* parts;
  }
}

// Both transports as one function: the message's text in, the answer's message out.
const TRANSPORTS = {
  lines(t) {
    const { child, lines } = start(t);
    return async (text) => {
      child.stdin.write(`${text}\n`);
      return JSON.parse((await lines.next()).value);
    };
  },
  async http(t) {
    const { lines } = start(t, '--http', '0');
    const url = (await lines.next()).value.replace('listening on ', '');
    return async (body) => (await fetch(url, { method: 'POST', body })).json();
  },
};

const request = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', id, method, params });

for (const [name, open] of Object.entries(TRANSPORTS)) {
  test(`over ${name}`, { timeout: 120_000 }, async (t) => {
    const backend = http.createServer((_, response) => response.writeHead(404).end('No order.'));
    backend.listen(0, '127.0.0.1');
    await once(backend, 'listening');
    t.after(() => backend.close());
    const send = await open(t);
    let id = 0;
    const result = async (method, params) => {
      id += 1;
      const { result, ...rest } = await send(request(id, method, params));
      assert.deepEqual(rest, { jsonrpc: '2.0', id });
      return result;
    };

    assert.deepEqual(await result('describe', { protocol: 1 }), {
      protocol: 1,
      name: 'touchstone-example-node',
      version: '1.0.0',
      profiles: ['envelope-core'],
      features: ['map', 'refuse', 'invoke', 'host-recognisers', 'error-flag'],
    });

    const call = { name: 'get_order', arguments: { id: 7 } };
    const early = await send(request(1000, 'invoke', call));
    assert.deepEqual(early.error, { code: -32603, message: 'invoke was called before configure' });

    const settings = { backendUrl: `http://127.0.0.1:${backend.address().port}`, timeoutMs: 30_000 };
    assert.deepEqual(await result('configure', settings), {});
    assert.deepEqual(await result('invoke', call), {
      text: '{"error":"not_found","message":"No order.","status":404,"retryable":false}',
      isError: true,
    });

    const headers = [['Content-Type', 'text/plain']];
    // U+2028 ends a line for some readers of lines, but not in this protocol.
    assert.deepEqual(await result('map', { response: { status: 200, headers, body: 'a\u2028b' } }), {
      text: '{"status":200,"body":"a\u2028b","contentType":"text/plain"}',
    });
    assert.deepEqual(await result('map', { response: { status: 200, headers, bodyBase64: '4oKs/w==' } }), {
      text: '{"status":200,"body":"€\ufffd","contentType":"text/plain"}',
    });
    assert.deepEqual(
      await result('map', {
        response: { status: 400, headers: [] },
        fields: { known: ['item'] },
        hostRecognises: { message: 'ours', fields: [{ name: 'Item', message: 'm' }] },
      }),
      {
        text: '{"error":"validation_failed","message":"ours","status":400,"retryable":false,"fields":[{"name":"item","message":"m"}]}',
        isError: true,
      },
    );

    assert.equal((await send('{"jsonrpc":')).error.code, -32700);
    assert.equal((await send('{"jsonrpc":"2.0","method":"describe"}')).error.code, -32600);
    assert.equal((await send('null')).error.code, -32600);
    assert.equal((await send(request(1001, 'constructor'))).error.code, -32601);
    assert.equal((await send(request(1002, 'map'))).error.code, -32603);

    const large = 'x'.repeat(2 ** 20);
    const { text } = await result('map', { response: { status: 200, headers, body: large } });
    assert.equal(JSON.parse(text).body.length, large.length);
  });
}

test('lines: answers come as they are ready, and the end of input ends the adapter', { timeout: 60_000 }, async (t) => {
  const { child, exit, lines } = start(t);
  const parked = []; // the backend keeps the first response until the second call is answered
  const backend = http.createServer((_, response) => parked.push(response));
  backend.listen(0, '127.0.0.1');
  await once(backend, 'listening');
  t.after(() => backend.close());
  const settings = { backendUrl: `http://127.0.0.1:${backend.address().port}`, timeoutMs: 0 };
  const messages = [
    request(1, 'configure', settings),
    request(2, 'invoke', { name: 'get_order', arguments: { id: 7 } }),
    request(3, 'map', { response: { status: 204, headers: [] } }),
  ];
  const arrived = once(backend, 'request');
  child.stdin.end(`${messages.join('\n')}\n\n`);
  await arrived;
  assert.equal(JSON.parse((await lines.next()).value).id, 1);
  assert.equal(JSON.parse((await lines.next()).value).id, 3);
  parked[0].writeHead(204).end();
  assert.equal(JSON.parse((await lines.next()).value).id, 2);
  assert.deepEqual(await exit, [0, null]);
});

test('http: only POST, and a wrong command line says how', { timeout: 60_000 }, async (t) => {
  const { lines } = start(t, '--http', '0');
  const url = (await lines.next()).value.replace('listening on ', '');
  const response = await fetch(url);
  assert.equal(response.status, 405);
  assert.equal(response.headers.get('allow'), 'POST');
  for (const args of [['--http'], ['--http', '8x'], ['--http', 'x8'], ['serve']]) {
    assert.deepEqual(await start(t, ...args).exit, [2, null]);
  }
});
