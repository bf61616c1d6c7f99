// Runs `npm start` as a user does: in a fresh clone with an empty cache of npm, on a Node that is
// too old and on Node 24. Then installs everything for `npm test` while the server runs, and starts
// the server again without a registry. Prints the seconds.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { nodeProblem } from '../packages/core/node-floor.js'
import { folderOfNode } from './fitting-node.mjs'
import { freePort } from './free-port.mjs'
import { Programs, run } from './programs.mjs'
import { root } from './run.mjs'

const VERSIONS = ['20', '24']
const EMBEDDED = `import('./packages/node/dist/index.js')
  .then(({ createMessaging }) => createMessaging({ database: ':memory:' }))
  .catch(({ message }) => { console.error(message); process.exit(1) })`
const folder = mkdtempSync(path.join(tmpdir(), 'fresh-clone-'))
const programs = new Programs()
try {
  for (const version of VERSIONS) await checkOn(version)
} finally {
  await programs.endAll()
  rmSync(folder, { recursive: true, force: true })
}

async function checkOn(version) {
  const clone = path.join(folder, `on-${version}`)
  const port = await freePort()
  const env = {
    ...process.env,
    PATH: `${await folderOfNode(version)}${path.delimiter}${process.env.PATH}`,
    npm_config_cache: path.join(folder, `cache-${version}`),
  }
  run(folder, 'git', ['clone', '--quiet', root, clone])
  const first = await startIn(clone, port, env)
  useWhileInstalling(clone, first, env)
  await programs.end(first, 'SIGTERM')
  const again = await startIn(clone, port, { ...env, npm_config_registry: 'http://127.0.0.1:1/' })
  await programs.end(again, 'SIGTERM')
  if (nodeProblem(run(clone, 'node', ['-p', 'process.versions.node'], env))) refuses(env)
}

/** Starts the server with a port as an argument. Returns the program when `/healthz` answers. */
async function startIn(clone, port, env) {
  const since = performance.now()
  const server = programs.start(clone, `npm start -- --port ${port}`, env)
  const healthz = `http://127.0.0.1:${port}/healthz`
  await programs.until('/healthz answers', async () => (await fetch(healthz)).ok)
  const seconds = ((performance.now() - since) / 1_000).toFixed(1)
  console.log(`${path.basename(clone)}: /healthz answers after ${seconds} s`)
  await programs.until('the next step is printed', () => server.printed.includes('listen --try'))
  return server
}

/** Runs the installation of `npm test`, and then the command that the server printed. */
function useWhileInstalling(clone, server, env) {
  const install = `import('./scripts/installation.mjs').then(({ installAll }) => installAll())`
  run(clone, 'node', ['-e', install], env)
  const [, command] = /^ +(.*listen --try.*)$/m.exec(server.printed) ?? []
  const printed = run(clone, 'bash', ['-c', command], env)
  if (!printed.includes('signature valid')) throw new Error(`no verified webhook:\n${printed}`)
}

/** Other programs end with one sentence on an old Node. The packages are those of this clone. */
function refuses(env) {
  const commands = [
    ['npm', 'run', '--silent', 'lint'],
    ['npx', 'agent-messaging', 'dev'],
    ['node', '-e', EMBEDDED],
  ]
  for (const [command, ...args] of commands) {
    const { status, stderr } = spawnSync(command, args, {
      cwd: root,
      env,
      encoding: 'utf8',
    })
    if (
      status !== 1 ||
      !/^Node 22\.19 or newer is required, and this is Node [\d.]+\. .*\n$/.test(stderr)
    )
      throw new Error(`${command} ${args[0]} ended with ${status} and printed ${stderr}`)
  }
}
