#!/usr/bin/env node
// npm links a command when it installs, if its file is there. In a clone the build comes after that: so this file is none of the build's.
import { existsSync } from 'node:fs'

if (existsSync(new URL('../dist/cli.js', import.meta.url))) await import('../dist/cli.js')
else {
  console.error('agent-messaging is not built here yet: run `npm run build` in the clone first.')
  process.exitCode = 1
}
