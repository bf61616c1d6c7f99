// `npm start`: installs what the server needs, bundles it and starts it. Arguments after `--` go to
// its command `dev`. Node 18 can load this file.
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { useFittingNode } from './fitting-node.mjs'
import { installForServer } from './installation.mjs'
import { root, stopOnFullDisk } from './run.mjs'

await useFittingNode()
try {
  await installForServer()
  const { ensureBundle } = await import('../packages/server/make-bundle.mjs')
  await ensureBundle()
} catch (error) {
  stopOnFullDisk(error)
}

// The server runs in this process, so signals reach it and its exit code is the command's.
const cli = path.join(root, 'packages/server/bin/agent-messaging.js')
process.chdir(root)
process.argv = [process.execPath, cli, 'dev', ...process.argv.slice(2)]
await import(pathToFileURL(cli).href)
