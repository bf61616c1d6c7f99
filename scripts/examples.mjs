// Runs the npm script `check` of each example, several at a time. `npm test` runs the examples that
// have a test. Skips an example whose `needs` names a missing program. With CI_STRICT=1, that is a
// failure.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** These take longest: they install frameworks and runtimes. */
const FIRST = ['embed-in-next', 'embed-in-bun-and-deno', 'embed-in-nest', 'embed-in-a-bundle']
const AT_A_TIME = 3

const examples = fileURLToPath(new URL('../examples', import.meta.url))
const folders = readdirSync(examples, { withFileTypes: true }).filter((one) => one.isDirectory())
const names = new Set([...FIRST, ...folders.map(({ name }) => name)])
const unchecked = []
const waiting = names.values()
await Promise.all(Array.from({ length: AT_A_TIME }, checkWaiting))
if (unchecked.length > 0) console.error(`Failed, or without a check: ${unchecked.join(', ')}`)
process.exitCode = unchecked.length > 0 ? 1 : 0

async function checkWaiting() {
  for (const name of waiting)
    if (!(await isChecked(path.join(examples, name)))) unchecked.push(name)
}

async function isChecked(folder) {
  const manifest = path.join(folder, 'package.json')
  const {
    name,
    scripts,
    needs = [],
  } = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')) : {}
  if (!scripts?.check) return readdirSync(folder).some((file) => file.endsWith('.test.ts'))
  const missing = needs.filter(
    (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status !== 0,
  )
  if (missing.length > 0) {
    console.log(`${name}: skipped, needs ${missing.join(' and ')}`)
    return process.env.CI_STRICT !== '1'
  }
  const startedAt = performance.now()
  const check = spawn('bash', ['-c', 'npm run --silent check 2>&1'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => check.once('close', resolve))
  const printed = await text(check.stdout)
  const isPassed = (await ended) === 0
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`${printed}${name}: ${isPassed ? 'passed' : 'failed'} in ${seconds} s`)
  return isPassed
}
