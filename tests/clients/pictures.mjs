// Tests ReadImage: the client receives an image of the declared type.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// All widths exceed the heights, so that swapped dimensions are detected.
const UNTOUCHED = { name: 'cdhn2c08.png', width: 32, height: 8 };
const CONVERTED = { name: 'rgb16.bmp', width: 127, height: 64 };

const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const MIME_TYPE = 'image/png';

// Reads the size from the header, which is the first chunk of a PNG file.
function sizeOfPng(bytes) {
  assert.deepEqual(bytes.subarray(0, 8), PNG);
  assert.equal(bytes.toString('latin1', 12, 16), 'IHDR');
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

// Reads a picture of the workspace and returns the bytes of the resulting image.
async function shown(adapter, session, revision, { name, width, height }) {
  const result = await adapter.call('ReadImage', { file_path: join(session.pictures, name) });
  assert.deepEqual(result.content.map(block => block.type), ['text', 'image'], JSON.stringify(result));
  const [, { mimeType, data }] = result.content;
  assert.equal(mimeType, MIME_TYPE);
  const bytes = Buffer.from(data, 'base64');
  // Buffer ignores invalid base64.
  assert.equal(bytes.toString('base64'), data);
  assert.deepEqual(sizeOfPng(bytes), { width, height });
  const sent = { mime_type: MIME_TYPE, width, height, bytes: bytes.length };
  assert.deepEqual(result.structuredContent?.sent, revision >= '2025-06-18' ? sent : undefined);
  return bytes;
}

export async function pictureSteps(adapter, session, steps, revision) {
  await steps.step('shows an image, untouched', async () => {
    const bytes = await shown(adapter, session, revision, UNTOUCHED);
    assert.deepEqual(bytes, readFileSync(join(session.pictures, UNTOUCHED.name)));
  });
  await steps.step('shows an image that was converted to PNG', async () => {
    await shown(adapter, session, revision, CONVERTED);
  });
}
