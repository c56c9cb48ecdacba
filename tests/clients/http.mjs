// A server over HTTP, for one client.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

export const OVER_HTTP = 'http-';

// Starts it with the command that starts the server; its address, what a client shows, and how to end it.
export async function serveHttp(server) {
  const child = spawn(server, ['serve', '--http', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const token = (await readFile(join(dirname(server), 'home/.scorpiox/http/token'), 'utf8')).trim();
  return {
    url: new URL(/http:\/\/\S+\/mcp/.exec(line)[0]),
    headers: { Authorization: `Bearer ${token}` },
    end: async () => {
      child.kill();
      await ended;
    },
  };
}
