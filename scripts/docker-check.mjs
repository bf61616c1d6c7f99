// Runs the steps of the Dockerfile in temporary folders on this machine, without Docker.
// Does not check the images, the user, and steps on paths outside the working directory.
// Copies the installed dependencies instead of running `npm ci`. Run it on the Node of the image.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from './free-port.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const START_LIMIT_MS = 60_000

const [build, final] = stagesOf(readFileSync(path.join(root, 'Dockerfile'), 'utf8'))
const folder = mkdtempSync(path.join(tmpdir(), 'docker-check-'))
const app = path.join(folder, 'app')
const data = path.join(folder, 'data')
try {
  copyContext(app)
  for (const command of stepsOf(build, 'RUN')) {
    if (command.startsWith('npm ci ')) copyModules(app)
    else run(command)
  }
  mkdirSync(data)
  await serve()
  console.log(
    'The steps of the Dockerfile build a server that starts, becomes healthy, and drains on SIGTERM.',
  )
} finally {
  rmSync(folder, { recursive: true })
}

function stagesOf(text) {
  const lines = text.replaceAll('\\\n', ' ').split('\n')
  const steps = lines.flatMap((line) => {
    const [, instruction, rest] = /^([A-Z]+) (.+)$/.exec(line) ?? []
    return instruction ? [{ instruction, rest }] : []
  })
  const starts = steps.flatMap(({ instruction }, index) => (instruction === 'FROM' ? [index] : []))
  return starts.map((start, n) => steps.slice(start, starts[n + 1]))
}

function stepsOf(stage, wanted) {
  return stage.filter(({ instruction }) => instruction === wanted).map(({ rest }) => rest)
}

/** Copies the files of git that .dockerignore allows, as `COPY . .` does. */
function copyContext(to) {
  const { stdout } = spawnSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    { cwd: root, encoding: 'utf8' },
  )
  const rules = readFileSync(path.join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map(ruleOf)
  const files = stdout.split('\0').filter((file) => file !== '' && isAllowed(file, rules))
  for (const file of files) cpSync(path.join(root, file), path.join(to, file))
}

/** The last rule that matches a file or a folder above it decides. */
function isAllowed(file, rules) {
  return rules.findLast(({ pattern }) => pattern.test(file))?.isException ?? true
}

function ruleOf(line) {
  const glob = line.replace(/^!/, '').replaceAll('.', '\\.')
  const pattern = glob.replaceAll('**/', '\0').replaceAll('*', '[^/]*').replaceAll('\0', '(?:.*/)?')
  return { isException: line.startsWith('!'), pattern: new RegExp(`^${pattern}(?:/|$)`) }
}

function copyModules(to) {
  const { stdout } = spawnSync(
    'git',
    ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  )
  const folders = stdout.split('\0').filter((file) => file.endsWith('node_modules/'))
  if (folders.length === 0) throw new Error('run `npm ci` first')
  for (const folder of folders)
    spawnSync('cp', ['-a', path.join(root, folder), path.join(to, path.dirname(folder))], {
      stdio: 'inherit',
    })
}

function run(command) {
  console.log(`RUN ${command}`)
  const { status } = spawnSync('sh', ['-ec', command], {
    cwd: app,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status !== 0) throw new Error(`the step ended with exit code ${status}`)
}

async function serve() {
  const env = {
    PATH: process.env.PATH,
    SERVICE_MASTER_KEY: 'ab'.repeat(32),
    ...settings(),
    HOST: '127.0.0.1',
    PORT: String(await freePort()),
  }
  const [health] = stepsOf(final, 'HEALTHCHECK').map((rest) =>
    JSON.parse(rest.slice(rest.indexOf('CMD ') + 4)),
  )
  const [command] = stepsOf(final, 'CMD').map(JSON.parse)
  const isHealthy = () => spawnSync(health[0], health.slice(1), { env, cwd: app }).status === 0
  if (isHealthy()) throw new Error('the health check passes before there is a server')
  const server = spawn(command[0], command.slice(1), {
    env,
    cwd: app,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(server, 'exit')
  try {
    for (const end = Date.now() + START_LIMIT_MS; !isHealthy();) {
      if (server.exitCode !== null || Date.now() > end)
        throw new Error('the server did not become healthy')
    }
  } finally {
    server.kill('SIGTERM')
  }
  const [code] = await ended
  if (code !== 0) throw new Error(`the server ended with ${code} on SIGTERM`)
}

/** Returns the image's settings, with its volume in the temporary folder. */
function settings() {
  const pairs = stepsOf(final, 'ENV').flatMap((rest) => rest.split(' '))
  return Object.fromEntries(
    pairs.map((pair) => pair.replace('/data/', `${data}/`).split(/=(.*)/s).slice(0, 2)),
  )
}
