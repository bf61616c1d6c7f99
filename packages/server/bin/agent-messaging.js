#!/usr/bin/env node
// npm links this file at install time, before a clone is built. So it cannot be part of the build.
import { existsSync } from 'node:fs'
import { nodeProblem } from '@org/agent-messaging-core/node-floor'

const problem = nodeProblem(process.versions.node)
if (problem === undefined && existsSync(new URL('../bundle/cli.js', import.meta.url))) {
  await import('../bundle/cli.js')
} else {
  console.error(
    problem ?? 'agent-messaging is not built yet. Run `npm run build` in the clone first.',
  )
  process.exitCode = 1
}
