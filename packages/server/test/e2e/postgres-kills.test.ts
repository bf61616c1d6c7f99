import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { testPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { linesOf } from './lines-of.js'
import { until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'
import { surviveKills } from './survive-kills.js'
import { send, testFolder, twoOnPostgres, type Page } from './two-on-postgres.js'

/** Counts its runs in memory. */
const COUNTER = `
  import { createInterface } from 'node:readline'
  let runs = 0
  const say = (message) => process.stdout.write(JSON.stringify(message) + '\\n')
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { type, id } = JSON.parse(line)
    const response = () => JSON.stringify({ pid: process.pid, parent: process.ppid, runs: ++runs })
    if (type === 'run') say({ type: 'answer', id, response: response() })
  })
  say({ type: 'ready', protocol: 1 })`

describe('two processes on one PostgreSQL, one of which is killed', () => {
  it('G1, G3: take over the run and the delivery of a killed process', async () => {
    const folder = await testFolder()
    const begun = path.join(folder, 'begun')
    const release = path.join(folder, 'release')
    const [one, other] = await twoOnPostgres(`
      import { appendFileSync, existsSync } from 'node:fs'
      export default { work: async ({ attempt }) => {
        appendFileSync(${JSON.stringify(begun)}, process.pid + '\\n')
        while (!existsSync(${JSON.stringify(release)})) await new Promise((resolve) => setTimeout(resolve, 10))
        return String(process.pid)
      } }`)
    const hook = await receiver()
    onTestFinished(hook.close)
    expect(
      (await other.api('POST', '/v1/webhooks', { url: hook.url, events: ['message.responded'] }))
        .status,
    ).toBe(201)
    const answered = send(one, 's', 'hi').catch(() => undefined)
    const begunBy = () => linesOf(begun)
    expect(await until(() => begunBy().length > 0)).toBe(true)
    // Either may claim the run, and on a busy machine a lease of a second may end early.
    const [owner, survivor] = begunBy().at(-1) === String(other.pid()) ? [other, one] : [one, other]
    await owner.kill('SIGKILL')
    const isTakenOver = () => begunBy().at(-1) === String(survivor.pid())
    expect(await until(isTakenOver), `${begunBy().join()}\n${survivor.output()}`).toBe(true)
    await writeFile(release, '')
    expect(await until(() => hook.received.length > 0)).toBe(true)
    await answered
    const listed = await survivor.api('GET', '/v1/agents/worker/messages')
    const { data } = (await listed.json()) as Page
    expect(data).toMatchObject([{ status: 'responded', response: begunBy().at(-1) }])
    // A process may be killed after its claim and before it begins.
    expect(data[0]?.attempt).toBeGreaterThanOrEqual(begunBy().length)
  })

  it('share one child process per agent, and replace it after its server is killed', async () => {
    const program = path.join(await testFolder(), 'counter.mjs')
    await writeFile(program, COUNTER)
    const entry = { command: process.execPath, args: [program] }
    const servers = await twoOnPostgres(
      `export default { work: () => '' }\nexport const programs = { counter: ${JSON.stringify(entry)} }`,
      [],
      5_000, // a busy machine must not lose the child process
    )
    const [one, other] = servers
    await one.api('POST', '/v1/agents', {
      name: 'counter',
      runtime: { kind: 'process', program: 'counter' },
      desiredState: 'running',
    })
    const ask = async (
      server: RealServer,
      sessionId: string,
    ): Promise<{ pid: number; parent: number; runs: number }> => {
      const sent = await server.api(
        'POST',
        '/v1/agents/counter/messages',
        { sessionId, message: 'hi' },
        { prefer: 'wait=30' }, // the lease of a killed owner ends first
      )
      return JSON.parse(((await sent.json()) as { response: string }).response)
    }
    await until(
      async () =>
        ((await (await one.api('GET', '/v1/agents/counter')).json()) as { state: string }).state ===
        'running',
    )
    const first = await ask(one, 'a')
    for (let n = 2; n <= 10; n++)
      expect(await ask(servers[n % 2 ? 0 : 1], n % 3 ? 'a' : 'b')).toEqual({ ...first, runs: n })
    const [owner, survivor] = first.parent === one.pid() ? [one, other] : [other, one]
    await owner.kill('SIGKILL')
    const next = await ask(survivor, 'a')
    expect(next).toEqual({ pid: expect.any(Number), parent: survivor.pid(), runs: 1 })
  })

  const slowly = { timeout: 240_000 }
  it('lose nothing over 4 kills at random moments under load (G1-G5)', slowly, async () => {
    const postgres = await testPostgres()
    onTestFinished(() => postgres.close())
    const env = { SERVICE_DATABASE_URL: await postgres.database() }
    expect(await surviveKills({ kills: 4, processes: 2, env })).toEqual([])
  })
})
