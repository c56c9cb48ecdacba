// TypeScript SDK 1.x as a client: `node typescript_v1.mjs ERA SESSION_FOLDER`. Its only era is the handshake
// with the newest revision that it knows.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CallToolResultSchema, ElicitRequestSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { OVER_HTTP, serveHttp } from './http.mjs';
import { main, PATIENCE } from './scenario.mjs';

function adapterFor(era, fillIn) {
  const capabilities = fillIn ? { elicitation: {} } : {};
  const client = new Client({ name: 'tests', version: '1' }, { capabilities });
  const onForm = (request, extra) => fillIn(extra.requestId, request.params);
  if (fillIn) client.setRequestHandler(ElicitRequestSchema, onForm);
  const unexpected = [];
  client.onerror = error => unexpected.push(error.message);
  const limits = { timeout: PATIENCE };
  let served;
  const transportTo = async server => {
    if (!era.startsWith(OVER_HTTP)) return new StdioClientTransport({ command: server, stderr: 'inherit' });
    served = await serveHttp(server);
    return new StreamableHTTPClientTransport(served.url, { requestInit: { headers: served.headers } });
  };
  const adapter = {
    unexpected,
    connect: async server => {
      const transport = await transportTo(server);
      let agreed;
      const set = transport.setProtocolVersion?.bind(transport);
      transport.setProtocolVersion = revision => {
        agreed = revision;
        set?.(revision);
      };
      await client.connect(transport, limits);
      return agreed;
    },
    tools: async () => (await client.listTools({}, limits)).tools.map(tool => tool.name),
    call: (name, args, more) => client.callTool({ name, arguments: args }, CallToolResultSchema, { ...limits, ...more }),
    prompts: async () => (await client.listPrompts({}, limits)).prompts.map(prompt => prompt.name),
    prompt: async (name, args) => (await client.getPrompt({ name, arguments: args }, limits)).messages[0].content.text,
    errorCode: error => (error instanceof McpError ? error.code : undefined),
    close: async () => {
      // The SDK reports that it aborts its own stream.
      if (served) client.onerror = undefined;
      await client.close();
      await served?.end();
    },
  };
  return { adapter, revision: era.replace(OVER_HTTP, '').replace('initialize-', '') };
}

await main('typescript-v1', adapterFor);
