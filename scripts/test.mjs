// `npm test` and `npm run test:all`: installs everything, builds and runs the tests. Arguments
// after `--` go to vitest: `npm test -- packages/core`. See scripts/left-out-reporter.ts for the
// last lines. Node 18 can load this file.
import path from 'node:path'
import { useFittingNode } from './fitting-node.mjs'
import { installAll } from './installation.mjs'
import { root, run, stop } from './run.mjs'

await useFittingNode()
await installAll()
const { build } = await import('./build.mjs')
if (!(await build())) stop('The build failed. See the output above.')
process.exitCode = await run([
  process.execPath,
  path.join(root, 'node_modules/vitest/vitest.mjs'),
  'run',
  ...process.argv.slice(2),
])
