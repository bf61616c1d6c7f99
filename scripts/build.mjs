// `npm run build`: builds all packages and the bundle of the server.
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { root, run } from './run.mjs'

/** Returns false if the build fails. */
export async function build() {
  const tsc = [process.execPath, path.join(root, 'node_modules/typescript/bin/tsc'), '-b']
  const bundle = [process.execPath, path.join(root, 'packages/server/make-bundle.mjs')]
  // tsc does not notice that an output is missing.
  const force = isBuilt() ? [] : ['--force']
  return (await run([...tsc, ...force])) === 0 && (await run(bundle)) === 0
}

const isBuilt = () =>
  readdirSync(path.join(root, 'packages'))
    .map((name) => path.join(root, 'packages', name))
    .filter((folder) => existsSync(path.join(folder, 'tsconfig.json')))
    .every((folder) => existsSync(path.join(folder, 'dist/index.js')))

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = (await build()) ? 0 : 1
