// Conversation of each TypeScript SDK with the server. An adapter hides the differences between the SDKs:
// connect, tools, call, prompts, prompt, errorCode, close, unexpected.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { formlessSteps, formSteps, Person } from './forms.mjs';
import { pictureSteps } from './pictures.mjs';
import { contains, Session, Steps, text } from './steps.mjs';

const TOOLS = [
  'Bash',
  'ReadImage',
  'ReadDocs',
  'WebSearch',
  'TaskManager',
  'PlanMode',
  'AskUserQuestion',
  'InvokeSkill',
  'BackgroundBash',
  'ReadBgOutput',
  'ListBgTasks',
  'KillBgTask',
  'SetCallback',
];
const PLAN_MODE_OFF = { active: false, goal: '', plan_file: '', started_at: null };
const LOCK_DATABASE = fileURLToPath(new URL('lock_database.py', import.meta.url));
const STOP = 'user pressed stop';

// Maximum time for a response, in milliseconds.
export const PATIENCE = 10_000;

// Observation time in milliseconds after which a call is known to be cancelled. The server retries the lock
// every 25 ms, so a call that continued would have written within this time.
const LOOK = 100;

// Maximum time for a response that does not wait for anything, in milliseconds.
const AT_ONCE = 1000;

async function tasks(adapter, action, what = '') {
  const result = await adapter.call('TaskManager', { action, query: '', text: what });
  assert.ok(!result.isError, `${action} failed: ${text(result)}`);
  return text(result);
}

// Holds the database's write lock while `body` runs.
async function withLock(session, body) {
  const holder = spawn('python3', [LOCK_DATABASE, session.state], { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(holder, 'close');
  const ready = await Promise.race([once(holder.stdout, 'data'), closed]);
  assert.equal(String(ready[0]).trim(), 'locked');
  try {
    await body();
  } finally {
    holder.stdin.end();
    await closed;
  }
}

async function ordinarySteps(adapter, session, steps, revision) {
  const structured = revision >= '2025-06-18';
  await steps.step('lists the tools', async () => {
    assert.deepEqual(await adapter.tools(), TOOLS);
  });
  await steps.step('creates a task, adds a step, lists it', async () => {
    await tasks(adapter, 'create', 'write the report');
    await tasks(adapter, 'add', 'find the figures');
    contains(await tasks(adapter, 'list'), '#1 write the report (0/1 step)');
  });
  await steps.step(`reads the plan mode, ${structured ? 'with' : 'without'} structured content`, async () => {
    const result = await adapter.call('PlanMode', { action: 'status' });
    assert.equal(text(result), 'Plan mode is not active.');
    assert.deepEqual(result.structuredContent, structured ? PLAN_MODE_OFF : undefined);
  });
  await steps.step('runs a command in a sandbox, and one in the background', async () => {
    const ran = await adapter.call('Bash', { command: "printf 'héllo\\n'; exit 3" });
    assert.equal(ran.isError, false);
    contains(text(ran), 'héllo\n\n[exit code 3 · ', 'sandbox T');
    contains(text(await adapter.call('BackgroundBash', { command: 'sleep 300' })), 'Started background task 1 ');
    contains(text(await adapter.call('ListBgTasks', {})), '[1] running for ', 'sleep 300');
    contains(text(await adapter.call('KillBgTask', { task_id: 1 })), 'Killed background task 1: ');
  });
  await steps.step('lists the skills as prompts and reads each', async () => {
    assert.deepEqual((await adapter.prompts()).sort(), session.skills);
    for (const name of session.skills) {
      contains(await adapter.prompt(name, { arguments: 'Ada Lovelace' }), `<skill_content name="${name}">`, 'Ada Lovelace');
    }
  });
}

async function wrongSteps(adapter, steps) {
  await steps.step('is told that a tool is unknown: -32602', async () => {
    const error = await adapter.call('NoSuchTool', {}).then(() => assert.fail('no error'), error => error);
    assert.equal(adapter.errorCode(error), -32602, error);
  });
  await steps.step('is told what is wrong with arguments: isError', async () => {
    const result = await adapter.call('PlanMode', { action: 7 });
    assert.equal(result.isError, true);
    contains(text(result), 'action');
  });
}

// Calls a tool that must wait, cancels the call at its first progress, and returns the progress.
async function cancelAtFirstProgress(adapter) {
  const progress = [];
  const stop = new AbortController();
  const onprogress = said => {
    progress.push(said);
    stop.abort(STOP);
  };
  const never = { action: 'create', query: '', text: 'never stored' };
  const call = adapter.call('TaskManager', never, { signal: stop.signal, onprogress });
  const error = await call.then(result => assert.fail(`not cancelled but answered: ${text(result)}`), error => error);
  contains(error.message, STOP);
  return progress;
}

// Checks for a while that the list responds immediately, with these parts and without the cancelled task.
async function look(adapter, ...parts) {
  const end = performance.now() + LOOK;
  for (let start = performance.now(); start < end; start = performance.now()) {
    const found = await tasks(adapter, 'list');
    const took = performance.now() - start;
    assert.ok(took < AT_ONCE, `the answer took ${took} ms`);
    contains(found, ...parts);
    assert.ok(!found.includes('never stored'), found);
  }
}

async function cancelSteps(adapter, session, steps, revision) {
  const message = revision >= '2025-03-26' ? { message: 'Waiting for others to finish writing' } : {};
  await withLock(session, async () => {
    await steps.step('hears of progress while a call waits, and cancels it', async () => {
      assert.deepEqual(await cancelAtFirstProgress(adapter), [{ progress: 1, ...message }]);
    });
    await steps.step('is answered at once while the lock is held', () => look(adapter, '1 task,', 'write the report'));
    await steps.step('cancels another call just before the lock is released', async () => {
      await cancelAtFirstProgress(adapter);
      await tasks(adapter, 'list'); // its response shows that the cancellation was read
    });
  });
  await steps.step('finds that the cancelled calls stored nothing', async () => {
    contains(await tasks(adapter, 'create', 'after the lock'), '#2');
    await look(adapter, '2 tasks,', 'write the report', 'after the lock');
  });
}

async function converse({ adapter, formless, person, revision }, session, steps) {
  const agreed = await adapter.connect(session.server);
  await steps.step(`agrees on ${revision}`, async () => assert.equal(agreed, revision));
  await ordinarySteps(adapter, session, steps, revision);
  await pictureSteps(adapter, session, steps, revision);
  await formSteps(adapter, person, steps, revision);
  await wrongSteps(adapter, steps);
  await cancelSteps(adapter, session, steps, revision);
  await steps.step('ends the server within a second', async () => {
    const start = performance.now();
    await adapter.close();
    const took = performance.now() - start;
    assert.ok(took < 1000, `took ${took} ms`);
  });
  await steps.step('got no message that it did not expect', async () => {
    assert.deepEqual(adapter.unexpected, []);
  });
  await formlessSteps(formless, session, steps);
}

// Runs the program `CLIENT.mjs ERA SESSION_FOLDER`. `adapterFor` returns the adapter of an era and the
// expected revision. The adapter supports forms if it receives a handler for them.
export async function main(client, adapterFor) {
  const [era, folder] = process.argv.slice(2);
  const steps = new Steps(client, era);
  const person = new Person();
  const { adapter, revision } = adapterFor(era, person.fillIn);
  const { adapter: formless } = adapterFor(era);
  try {
    await converse({ adapter, formless, person, revision }, new Session(folder), steps);
  } catch (error) {
    await steps.step('comes to the end of the conversation', () => Promise.reject(error));
    await adapter.close();
  }
  process.exitCode = steps.failed > 0 ? 1 : 0;
}
