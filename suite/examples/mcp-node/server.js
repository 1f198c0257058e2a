// An MCP server on the official TypeScript SDK. An agent finds, reads and calls the operations of
// the sample orders API with three tools; what the backend answers is mapped by ../node.
//
//   node server.js               over standard input and output; standard error is the log
//   node server.js --http PORT   over streamable HTTP at http://127.0.0.1:PORT/mcp (0: any free port)
//
// The backend is at TOUCHSTONE_BACKEND_URL, and has TOUCHSTONE_TIMEOUT_MS to answer.

import http from 'node:http';
import { createRequire } from 'node:module';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { sdkError } from '../node/envelope.js';
import { OPERATIONS, invoke } from '../node/orders.js';

const { name, version } = createRequire(import.meta.url)('./package.json');

const settings = {
  backendUrl: process.env.TOUCHSTONE_BACKEND_URL,
  timeoutMs: Number(process.env.TOUCHSTONE_TIMEOUT_MS ?? 30_000),
};

const DESCRIPTIONS = { get_order: 'Read one order.', create_order: 'Place an order.' };

const string = (description) => ({ type: 'string', description });

const TOOLS = {
  search_tools: {
    description: 'Find operations of the orders API by what they do.',
    properties: { query: string('What the operation should do, in words.') },
    required: ['query'],
    call: ({ query }) => {
      const words = query.toLowerCase().split(/[^a-z]+/).filter(Boolean);
      const fits = (text) => words.length === 0 || words.some((word) => text.toLowerCase().includes(word.replace(/s$/, '')));
      const tools = [...OPERATIONS.keys()].map((operation) => ({ name: operation, description: DESCRIPTIONS[operation] }));
      return { text: JSON.stringify({ tools: tools.filter((tool) => fits(`${tool.name} ${tool.description}`)) }) };
    },
  },
  load_tool: {
    description: 'Read one operation: its arguments as JSON Schema.',
    properties: { name: string('Exact name of the operation.') },
    required: ['name'],
    call: ({ name: operation }) => {
      const known = OPERATIONS.get(operation);
      if (!known) return sdkError('unknown_tool', `No operation named '${operation}'. Use search_tools to find the exact name.`);
      return { text: JSON.stringify({ name: operation, description: DESCRIPTIONS[operation], inputSchema: schemaOf(known) }) };
    },
  },
  invoke_tool: {
    description: 'Call one operation and get what the backend answered, or why it was not asked.',
    properties: {
      name: string('Exact name of the operation.'),
      arguments: { type: 'object', description: 'Arguments of the operation, as its schema says.' },
    },
    required: ['name', 'arguments'],
    call: (given) => invoke(given, settings),
  },
};

function schemaOf({ parameters }) {
  const properties = Object.fromEntries(Object.entries(parameters).map(([key, { type }]) => [key, { type }]));
  const required = Object.keys(parameters).filter((key) => parameters[key].in === 'path');
  return { type: 'object', properties, required, additionalProperties: false };
}

// What is wrong with the arguments of a meta-tool (CARRIER-06). The SDK's own validation would answer
// in prose, which an agent's code cannot read. The operation's arguments are for `invoke` to judge.
function misuse(tool, given) {
  const { properties, required } = TOOLS[tool];
  const allowed = Object.keys(properties).join(', ');
  const unknown = Object.keys(given).filter((key) => !Object.hasOwn(properties, key));
  if (unknown.length > 0) return `Unknown argument(s): ${unknown.join(', ')}. Allowed: ${allowed}.`;
  for (const key of required) {
    if (!Object.hasOwn(given, key)) return `Argument '${key}' of ${tool} is missing.`;
    if (properties[key].type === 'string' && typeof given[key] !== 'string') return `Argument '${key}' of ${tool} must be a string.`;
  }
  return undefined;
}

async function call({ params: { name: tool, arguments: given = {} } }) {
  if (!Object.hasOwn(TOOLS, tool)) throw new Error(`there is no tool ${tool}`); // of the protocol, not of an operation
  const problem = misuse(tool, given);
  const answer = problem ? sdkError('unknown_argument', problem) : await TOOLS[tool].call(given);
  return { content: [{ type: 'text', text: answer.text }], ...(answer.isError && { isError: true }) };
}

function newServer() {
  const server = new Server({ name, version }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.entries(TOOLS).map(([tool, { description, properties, required }]) => ({
      name: tool,
      description,
      inputSchema: { type: 'object', properties, required },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, call);
  return server;
}

// Without sessions: each request has a server and a transport of its own.
function serveHttp(port) {
  const handle = async (request, response) => {
    if (new URL(request.url, 'http://localhost').pathname !== '/mcp') return response.writeHead(404).end();
    if (request.method !== 'POST') return response.writeHead(405, { Allow: 'POST' }).end();
    const server = newServer();
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    response.on('close', () => server.close());
    await server.connect(transport);
    return transport.handleRequest(request, response);
  };
  const listener = http.createServer((request, response) => {
    handle(request, response).catch((error) => {
      console.error(error);
      response.destroy(error);
    });
  });
  listener.keepAliveTimeout = 0; // never: an idle connection must not close under the next request
  listener.listen(port, '127.0.0.1', () => {
    console.log(`listening on http://127.0.0.1:${listener.address().port}/mcp`);
  });
}

const [flag, port] = process.argv.slice(2);
if (!settings.backendUrl) {
  console.error('set TOUCHSTONE_BACKEND_URL to the URL of the backend');
  process.exitCode = 2;
} else if (flag === undefined) {
  await newServer().connect(new StdioServerTransport());
} else if (flag === '--http' && /^\d+$/.test(port)) {
  serveHttp(Number(port));
} else {
  console.error('usage: node server.js [--http PORT]');
  process.exitCode = 2;
}
