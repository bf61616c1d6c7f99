// Runs the npm script `check` of each example. `npm test` runs the examples that have a test.
// Skips an example whose `needs` names a missing program. With CI_STRICT=1, that is a failure.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const examples = fileURLToPath(new URL('../examples', import.meta.url))
const names = readdirSync(examples, { withFileTypes: true }).filter((entry) => entry.isDirectory())
const unchecked = names
  .map(({ name }) => name)
  .filter((name) => !isChecked(path.join(examples, name)))

if (unchecked.length > 0) console.error(`Failed, or without a check: ${unchecked.join(', ')}`)
process.exitCode = unchecked.length > 0 ? 1 : 0

function isChecked(folder) {
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
  const { status } = spawnSync('npm', ['run', '--silent', 'check'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  console.log(
    `${name}: ${status === 0 ? 'passed' : 'failed'} in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
  )
  return status === 0
}
