// Tests AskUserQuestion: with the client's form in revisions with forms, otherwise as text. `questions.json`
// contains the questions and the expected results.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { text } from './steps.mjs';

const QUESTIONS = new URL('questions.json', import.meta.url);
const { ask, message, forms, answered, declined, unasked } = JSON.parse(readFileSync(QUESTIONS));

// First revision with forms, and first revision with these kinds of fields.
const FORMS = '2025-06-18';
const CHOICES = '2025-11-25';

// Revision in which a result contains the form.
const IN_RESULT = '2026-07-28';

// A faster decline counts as a client without a user.
const READING_MS = 1100;

// Answers each form with the preset answer, and records the form.
export class Person {
  shown = [];
  answer = undefined;

  fillIn = async (id, params) => {
    this.shown.push({ id, params });
    if (this.answer?.action === 'decline') {
      await setTimeout(READING_MS);
    }
    return this.answer;
  };
}

// Asks the question; returns the result and the forms shown meanwhile.
async function asked(adapter, person, answer) {
  Object.assign(person, { shown: [], answer });
  const result = await adapter.call('AskUserQuestion', { questions_json: JSON.stringify(ask) });
  return { result, shown: person.shown };
}

function checkForm({ id, params }, { fields }, revision) {
  assert.equal(id === 'form', revision === IN_RESULT, `the form came as ${id}`);
  assert.equal(params.message, message);
  const { type, properties } = params.requestedSchema;
  assert.equal(type, 'object');
  assert.deepEqual(Object.keys(properties).sort(), Object.keys(fields).sort());
  for (const [name, expected] of Object.entries(fields)) {
    const found = Object.fromEntries(Object.keys(expected).map(key => [key, properties[name][key]]));
    assert.deepEqual(found, expected, name);
  }
}

function checkAnswer(result, expected) {
  assert.ok(!result.isError, text(result));
  assert.equal(text(result), expected.text);
  assert.deepEqual(result.structuredContent, expected.structured);
}

function checkUnasked(result) {
  assert.equal(result.isError, true);
  assert.equal(text(result), unasked.text);
}

export async function formSteps(adapter, person, steps, revision) {
  if (revision < FORMS) {
    await steps.step('is given questions as text, as the revision has no forms', async () => {
      const { result, shown } = await asked(adapter, person, { action: 'decline' });
      assert.deepEqual(shown, []);
      checkUnasked(result);
    });
    return;
  }
  const form = forms[revision < CHOICES ? FORMS : CHOICES];
  const bringer = revision === IN_RESULT ? 'a result brings' : 'a request brings';
  await steps.step(`answers questions in the form that ${bringer}`, async () => {
    const { result, shown } = await asked(adapter, person, { action: 'accept', content: form.content });
    assert.equal(shown.length, 1);
    checkForm(shown[0], form, revision);
    checkAnswer(result, answered);
  });
  await steps.step(`declines the form that ${bringer}`, async () => {
    const { result, shown } = await asked(adapter, person, { action: 'decline' });
    assert.equal(shown.length, 1);
    checkAnswer(result, declined);
  });
}

// Tests a client without the capability for forms.
export async function formlessSteps(adapter, session, steps) {
  await steps.step('is given questions as text, without forms of its own', async () => {
    await adapter.connect(session.server);
    try {
      const { result } = await asked(adapter, new Person());
      checkUnasked(result);
    } finally {
      await adapter.close();
    }
    assert.deepEqual(adapter.unexpected, []);
  });
}
