// `npm start`: prepares a fresh clone and starts the server. Arguments after `--` go to its command
// `dev`.
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { makeReady, root } from './ready.mjs'

await makeReady()

// The server runs in this process, so signals reach it and its exit code is the command's.
const cli = path.join(root, 'packages/server/bin/agent-messaging.js')
process.chdir(root)
process.argv = [process.execPath, cli, 'dev', ...process.argv.slice(2)]
await import(pathToFileURL(cli).href)
