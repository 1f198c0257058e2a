// A client on the official TypeScript SDK: it does to a server what an agent does, and prints what it
// got, one JSON value a line.
//
//   node client.js URL ID            over streamable HTTP
//   node client.js ID COMMAND…       over standard input and output

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport, getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [first, second, ...rest] = process.argv.slice(2);
const remote = /^https?:/.test(first ?? '');
const id = Number(remote ? second : first);
if (!Number.isSafeInteger(id) || (!remote && second === undefined)) {
  console.error('usage: node client.js URL ID | node client.js ID COMMAND…');
  process.exit(2);
}

const ours = Object.entries(process.env).filter(([name]) => name.startsWith('TOUCHSTONE_'));
const transport = remote
  ? new StreamableHTTPClientTransport(new URL(first))
  : new StdioClientTransport({
      command: second,
      args: rest,
      env: { ...getDefaultEnvironment(), ...Object.fromEntries(ours) },
    });

const client = new Client({ name: 'touchstone-example-client', version: '1.0.0' });
await client.connect(transport);
const print = (value) => console.log(JSON.stringify(value));
const { tools } = await client.listTools();
print(tools.map((tool) => tool.name).sort());
for (const [name, args] of [
  ['search_tools', { query: 'read an order' }],
  ['load_tool', { name: 'get_order' }],
  ['invoke_tool', { name: 'get_order', arguments: { id } }],
  ['invoke_tool', { name: 'get_order', arguments: { id: 'seven' } }],
  ['invoke_tool', { name: 'no_such_operation', arguments: {} }],
  ['invoke_tool', { arguments: {} }],
]) {
  print(await client.callTool({ name, arguments: args }));
}
await client.close();
