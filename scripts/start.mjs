// `npm start`: from a fresh clone to a running server; arguments after `--` go to the server's `dev` command.
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { makeReady, root } from './ready.mjs'

await makeReady()

// The server runs in this process: signals reach it directly, and its exit code is this command's.
const cli = path.join(root, 'packages/server/dist/cli.js')
process.chdir(root)
process.argv = [process.execPath, cli, 'dev', ...process.argv.slice(2)]
await import(pathToFileURL(cli).href)
