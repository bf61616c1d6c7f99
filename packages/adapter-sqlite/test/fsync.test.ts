import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { needs } from '../../../scripts/test-needs.js'
import { openSqliteStorage } from '../src/index.js'
import { tempFile } from './temp-file.js'

const COMMIT_BATCHES = fileURLToPath(new URL('./commit-batches.mjs', import.meta.url))
const BATCHES = 20

/** Counts the fsync and fdatasync calls of all threads. */
function syncsOf(path: string, size: number): number {
  const trace = `${path}.strace`
  execFileSync('strace', [
    '-f',
    '-e',
    'trace=fsync,fdatasync',
    '-o',
    trace,
    process.execPath,
    COMMIT_BATCHES,
    path,
    String(BATCHES),
    String(size),
  ])
  return readFileSync(trace, 'utf8').match(/ (?:fsync|fdatasync)\(/g)?.length ?? 0
}

it(
  'G1: each commit of a reopened file is synced, and concurrent writes share one sync',
  needs('strace'),
  async () => {
    const path = tempFile()
    // The driver opens a file that is in WAL mode with synchronous=NORMAL.
    await openSqliteStorage({ path }).close()
    const alone = syncsOf(path, 1)
    expect(alone).toBeGreaterThanOrEqual(BATCHES)
    const together = syncsOf(path, 50)
    expect(together).toBeGreaterThanOrEqual(BATCHES)
    expect(together).toBeLessThan(BATCHES * 50)
  },
)
