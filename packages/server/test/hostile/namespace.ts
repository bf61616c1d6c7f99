import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { needs } from '../../../../scripts/test-needs.js'

/** Routes all addresses to this machine, so that a leak reaches only our listener. */
const NETWORK =
  'ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo && exec "$@"'
const INSIDE = 'TEST_IS_IN_A_NETWORK_NAMESPACE'
const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
const LIMIT_MS = 240_000

/** Runs the tests of `define` in a network namespace. Outside, they appear as one test. */
export function inNetworkNamespace(fileUrl: string, define: () => void): void {
  if (process.env[INSIDE]) return define()
  it(
    'all tests of this file pass in a network namespace',
    { ...needs('namespaces'), timeout: LIMIT_MS },
    async () => {
      const results = await runInside(path.relative(ROOT, fileURLToPath(fileUrl)))
      const failed = results.filter(({ status }) => status !== 'passed')
      expect(
        failed.map(({ fullName, failureMessages }) => `${fullName}\n${failureMessages.join('\n')}`),
      ).toEqual([])
      expect(results.length).toBeGreaterThan(0)
    },
  )
}

type Result = {
  readonly fullName: string
  readonly status: string
  readonly failureMessages: readonly string[]
}

async function runInside(file: string): Promise<readonly Result[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'namespace-'))
  const output = path.join(folder, 'report.json')
  const vitest = [
    process.execPath,
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter=json',
    `--outputFile=${output}`,
    '--testTimeout=120000',
    file,
  ]
  const child = spawn('unshare', ['-n', 'sh', '-c', NETWORK, 'sh', ...vitest], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], [INSIDE]: 'yes' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LIMIT_MS - 10_000,
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  await once(child, 'close')
  const report = existsSync(output) ? readFileSync(output, 'utf8') : undefined
  rmSync(folder, { recursive: true })
  if (report === undefined)
    throw new Error(`the tests in the namespace did not report:\n${stdout}${stderr}`)
  const { testResults } = JSON.parse(report) as {
    testResults: { assertionResults: Result[]; message: string }[]
  }
  return testResults.flatMap(({ assertionResults, message }) =>
    message
      ? [{ fullName: file, status: 'failed', failureMessages: [message] }, ...assertionResults]
      : assertionResults,
  )
}
