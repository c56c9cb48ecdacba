// TypeScript SDK 2.x as a busy client: `node busy.mjs ERA URL TOKEN`. Creates tasks and answers questions
// until its input ends, and prints a line for each: `made NAME`, `answered`, or `failed` with the reason.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const ERAS = {
  '2025-11-25': { supportedProtocolVersions: ['2025-11-25'], versionNegotiation: { mode: 'legacy' } },
  '2026-07-28': { versionNegotiation: { mode: { pin: '2026-07-28' } } },
};
// Maximum time for a response.
const limits = { timeout: 10_000 };
const question = JSON.stringify({ questions: [{ text: 'Which?', options: ['A', 'B'] }] });

const [era, url, token] = process.argv.slice(2);
const client = new Client({ name: `typescript ${era}`, version: '1' }, { ...ERAS[era], capabilities: { elicitation: { form: {} } } });
client.onerror = () => {}; // Streams break when a server is killed; only the outcome of calls matters.
client.setRequestHandler('elicitation/create', ({ params }) => {
  const [field] = Object.keys(params.requestedSchema.properties);
  return { action: 'accept', content: { [field]: 'B' } };
});

async function attempt(done, name, args, isDone) {
  try {
    const result = await client.callTool({ name, arguments: args }, limits);
    const text = result.content.map(block => block.text).join(' ');
    console.log(!result.isError && isDone(text) ? done : `failed ${JSON.stringify(text)}`);
  } catch (error) {
    console.log(`failed ${JSON.stringify(String(error))}`);
  }
}

let ended = false;
process.stdin.on('end', () => { ended = true; }).resume();
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
await client.connect(transport, limits);
for (let number = 0; !ended; number += 1) {
  const task = `task-typescript-${era}-${number}-end`;
  await attempt(`made ${task}`, 'TaskManager', { action: 'create', query: '', text: task }, () => true);
  await attempt('answered', 'AskUserQuestion', { questions_json: question }, text => text.includes('B'));
}
await client.close();
