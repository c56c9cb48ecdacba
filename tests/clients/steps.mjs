// Shared by the Node programs of these tests: the directories of a session, and the printed steps.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

// Directories that `run.sh` created for one client, and the command that starts the server in them.
export class Session {
  constructor(folder) {
    this.server = join(folder, 'server');
    this.state = join(folder, 'home/.scorpiox/state');
    this.pictures = join(folder, 'workspace/pictures');
    this.skills = readdirSync(join(folder, 'workspace/.scorpiox/skills')).sort();
  }
}

// Prints one line per step and counts the failed ones.
export class Steps {
  failed = 0;

  constructor(client, era) {
    this.prefix = `${client.padEnd(13)} ${era.padEnd(22)}`;
  }

  async step(what, body) {
    try {
      await body();
      console.log(`ok    ${this.prefix} ${what}`);
    } catch (error) {
      this.failed += 1;
      console.log(`FAIL  ${this.prefix} ${what}: ${String(error).replaceAll('\n', ' ')}`);
      console.error(error);
    }
  }
}

export const text = result => result.content.filter(block => block.type === 'text').map(block => block.text).join('\n');

export function contains(found, ...parts) {
  for (const part of parts) assert.ok(found.includes(part), `${JSON.stringify(part)} is not in ${JSON.stringify(found)}`);
}
