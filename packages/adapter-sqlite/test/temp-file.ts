import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Returns a path in a new folder, which is removed at the end of the test. */
export function tempFile(name = 'storage.db'): string {
  const folder = mkdtempSync(join(tmpdir(), 'agent-messaging-sqlite-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, name)
}
