// `npm test`: from a fresh clone to the whole suite; arguments after `--` go to vitest (`npm test -- packages/core`).
// scripts/left-out-reporter.ts prints what was left out, and the totals, last.
import path from 'node:path'
import { makeReady, root, run } from './ready.mjs'

await makeReady() // built too: some tests start the server as its own process
process.exitCode = await run([
  process.execPath,
  path.join(root, 'node_modules/vitest/vitest.mjs'),
  'run',
  ...process.argv.slice(2),
])
