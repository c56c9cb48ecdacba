// TypeScript SDK 2.x as a client: `node typescript.mjs ERA SESSION_FOLDER`. Eras with the prefix `http-` use
// HTTP.

import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { OVER_HTTP, serveHttp } from './http.mjs';
import { main, PATIENCE } from './scenario.mjs';

const MODERN = '2026-07-28';

// The SDK probes the server with a separate process and then starts the server again. For a subclass, which
// may have state, it probes the process that it continues to use.
class InPlace extends StdioClientTransport {}

// Capabilities of a server that a client cached earlier; the client then skips the first request.
const KNOWN = {
  supportedVersions: [MODERN],
  capabilities: { tools: {}, prompts: {} },
  resultType: 'complete',
  ttlMs: 0,
  cacheScope: 'private',
};

function howTo(era) {
  const auto = { versionNegotiation: { mode: 'auto', probe: { timeoutMs: PATIENCE } } };
  switch (era) {
    case 'auto':
      return { options: auto };
    case 'auto-in-place':
      return { options: auto, Transport: InPlace };
    case `discover-${MODERN}`:
      return { options: { versionNegotiation: { mode: { pin: MODERN } } } };
    case `known-${MODERN}`:
      return { options: {}, connecting: { prior: { kind: 'modern', discover: KNOWN } } };
    default: {
      const revision = era.replace('initialize-', '');
      return { revision, options: { supportedProtocolVersions: [revision], versionNegotiation: { mode: 'legacy' } } };
    }
  }
}

function adapterFor(era, fillIn) {
  const { revision = MODERN, options, Transport = StdioClientTransport, connecting } = howTo(era.replace(OVER_HTTP, ''));
  const capabilities = fillIn ? { elicitation: { form: {} } } : {};
  const client = new Client({ name: 'tests', version: '1' }, { ...options, capabilities });
  const onForm = (request, context) => fillIn(context.mcpReq.id, request.params);
  if (fillIn) client.setRequestHandler('elicitation/create', onForm);
  const unexpected = [];
  client.onerror = error => unexpected.push(error.message);
  const limits = { timeout: PATIENCE };
  let served;
  const transportTo = async server => {
    if (!era.startsWith(OVER_HTTP)) return new Transport({ command: server, stderr: 'inherit' });
    served = await serveHttp(server);
    return new StreamableHTTPClientTransport(served.url, { fetch: served.fetch, requestInit: { headers: served.headers } });
  };
  const adapter = {
    unexpected,
    connect: async server => {
      await client.connect(await transportTo(server), { ...limits, ...connecting });
      return client.getNegotiatedProtocolVersion();
    },
    tools: async () => (await client.listTools({}, limits)).tools.map(tool => tool.name),
    call: (name, args, more) => client.callTool({ name, arguments: args }, { ...limits, ...more }),
    prompts: async () => (await client.listPrompts({}, limits)).prompts.map(prompt => prompt.name),
    prompt: async (name, args) => (await client.getPrompt({ name, arguments: args }, limits)).messages[0].content.text,
    errorCode: error => (error instanceof ProtocolError ? error.code : undefined),
    close: async () => {
      await served?.begun();
      await client.close();
      await served?.end();
    },
  };
  return { adapter, revision };
}

await main('typescript', adapterFor);
