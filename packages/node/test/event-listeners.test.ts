import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createMessaging } from '@org/agent-messaging-node'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { testPostgres, type TestPostgres } from '../../adapter-postgres/test/test-postgres.js'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

const PROGRAM = new URL('listening-program.mjs', import.meta.url)
const PATIENCE = { timeout: 60_000, interval: 100 }

async function idsOfLog(database: string): Promise<string[]> {
  const telemetry = { record: () => undefined }
  const messaging = await createMessaging({ database, masterKey: new Uint8Array(32), telemetry })
  const ids: string[] = []
  let after: string | undefined
  for (;;) {
    const { projectId } = messaging
    const page = await messaging.service.events.read({ projectId, after })
    if (page.data.length === 0) break
    ids.push(...page.data.flatMap(({ id, name }) => (name === 'message.responded' ? id : [])))
    after = page.nextCursor
  }
  await messaging.stop()
  return ids
}

it.each(['SQLite', 'PostgreSQL'])(
  'on %s, two processes that are killed in the handler miss no event of 1,000, and hear them in order',
  { timeout: 2 * PATIENCE.timeout },
  async (kind) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'messaging-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const database =
      kind === 'SQLite' ? `file:${path.join(folder, 'data.db')}` : await postgres.database()
    const file = path.join(folder, 'heard')
    writeFileSync(file, '')
    const heard = () => [...new Set(readFileSync(file, 'utf8').split('\n').slice(0, -1))]
    const start = (count: number, fatal?: number) => {
      const args = [database, file, String(count), String(fatal)]
      const child = fork(PROGRAM, args, { execArgv: [] })
      const exit = once(child, 'exit')
      const kill = async () => {
        child.kill('SIGKILL')
        await exit
      }
      onTestFinished(kill)
      return { exit, kill }
    }

    const first = start(500, 300)
    await expect.poll(() => heard().length, PATIENCE).toBeGreaterThan(0)
    const second = start(500, 400)
    const exits = await Promise.all([first.exit, second.exit])
    expect(exits.map(([, signal]) => signal)).toEqual(['SIGKILL', 'SIGKILL'])
    const third = start(0)
    await expect.poll(() => heard().length, PATIENCE).toBe(1_000)
    await third.kill()
    expect(heard()).toEqual(await idsOfLog(database))
  },
)
