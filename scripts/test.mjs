// `npm test` and `npm run test:all`: prepares a fresh clone and runs the tests. Arguments after `--`
// go to vitest: `npm test -- packages/core`. See scripts/left-out-reporter.ts for the last lines.
import path from 'node:path'
import { makeReady, root, run } from './ready.mjs'

await makeReady() // Some tests start the built server.
process.exitCode = await run([
  process.execPath,
  path.join(root, 'node_modules/vitest/vitest.mjs'),
  'run',
  ...process.argv.slice(2),
])
