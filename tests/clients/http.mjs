// HTTP server for one client.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

export const OVER_HTTP = 'http-';

// A client that is closed before its stream has started reports an abort, so `begun` waits for each requested
// stream.
function watchedStreams() {
  const asked = new Set();
  return {
    fetch: (url, init) => {
      const answer = fetch(url, init);
      if (init?.method === 'GET') asked.add(answer);
      return answer;
    },
    begun: () => Promise.allSettled(asked),
  };
}

// Starts the server; returns its URL, the options of the client's transport, and a function that stops it.
export async function serveHttp(server) {
  const child = spawn(server, ['serve', '--http', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const token = (await readFile(join(dirname(server), 'home/.scorpiox/http/token'), 'utf8')).trim();
  return {
    url: new URL(/http:\/\/\S+\/mcp/.exec(line)[0]),
    headers: { Authorization: `Bearer ${token}` },
    ...watchedStreams(),
    end: async () => {
      child.kill();
      await ended;
    },
  };
}
